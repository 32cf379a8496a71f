"""Walks through the package: how many functions and files one question or one call visits.

    python benchmarks/walk.py            the engine's walks
    python benchmarks/walk.py --compile  also a compiled function: its first call and a hit
    python benchmarks/walk.py --files    also the files of each walk, in order of first visit

Only functions of `anyshape` count. A change of file is a call whose function lies in another file
than the last one called.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyshape
from anyshape import ShapeEnv, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PACKAGE = str(Path(anyshape.__file__).parent)


class Walk(NamedTuple):
    """The functions that one action called, as (file, name), in order."""

    title: str
    steps: list[tuple[str, str]]

    @property
    def files(self) -> list[str]:
        """The files visited, in order of the first visit."""
        return list(dict.fromkeys(file for file, _ in self.steps))

    @property
    def changes(self) -> int:
        """How often a call lies in another file than the call before it."""
        pairs = zip(self.steps, self.steps[1:], strict=False)
        return sum(before[0] != after[0] for before, after in pairs)


def walk(title: str, action: Callable[[], Any]) -> Walk:
    """Run `action` and note the package's functions that it calls."""
    steps: list[tuple[str, str]] = []

    def profile(frame: Any, event: str, _arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGE):
            steps.append((code.co_filename[len(_PACKAGE) + 1 :], code.co_name))

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return Walk(title, steps)


def engine() -> Iterator[Walk]:
    """One check, one question and its repetition, in an environment with two facts."""
    env = ShapeEnv()
    n = env.backed(16, source="x.size(0)")
    k = env.unbacked(size=True, source="mask.sum()")
    check(k % 4 == 0)
    condition = k <= n
    yield walk("check(k <= n)", lambda: check(condition))
    yield walk("prove(n - k >= -1)", lambda: env.prove(n - k >= -1))
    yield walk("the same prove again", lambda: env.prove(n - k >= -1))
    yield walk("prove(2*k <= 3*n + 1)", lambda: env.prove(2 * k <= 3 * n + 1))


def compiled() -> Iterator[Walk]:
    """A compiled function with a branch on a size: its first call, and a hit."""
    import torch

    @anyshape.compile(dynamic=True)
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) if x.size(0) > 1 else x

    x = torch.ones(4, 8)
    yield walk("compiled, first call", lambda: program(x))
    yield walk("compiled, hit", lambda: program(x))


def main() -> None:
    """Print one line per walk."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--compile", action="store_true", help="a compiled function as well")
    parser.add_argument("--files", action="store_true", help="list the files of each walk")
    options = parser.parse_args()
    walks = [*engine(), *(compiled() if options.compile else ())]
    print(f"{'':26}{'calls':>7}{'files':>7}{'changes':>9}")
    for one in walks:
        print(f"{one.title:26}{len(one.steps):>7}{len(one.files):>7}{one.changes:>9}")
        if options.files:
            print("    " + " ".join(one.files))


if __name__ == "__main__":
    main()
