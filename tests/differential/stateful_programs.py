"""Random programs with outside state, effects, exceptions and containers, against eager execution.

    python -m tests.differential.stateful_programs --programs 5000 --calls 10 --seed 0 [--mode M]

A program is real source in a file of its own, so that its source can be read. It runs eagerly and
compiled, in modules of their own, and all that can be seen is compared after each call. The first
differences are shrunk and printed.
"""

from __future__ import annotations

import argparse
import collections
import json
import linecache
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tests.differential.hostile import run as runner
from tests.differential.hostile.run import SILENT, Outcome
from tests.differential.stateful_source import Draft, Writer, smaller, write

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 10
MODES = ("None", "True", "unbacked", "False", "fullgraph")  # one for each program, in turn
KNOWN = Path(__file__).parent / "stateful_known.json"
BUDGET = 400  # runs of shrinking


class Found(NamedTuple):
    """A program that differs."""

    seed: int
    mode: str
    outcome: Outcome
    draft: Draft


def known() -> list[int]:
    """The seeds that are known to differ."""
    return json.loads(KNOWN.read_text(encoding="utf-8"))


def mode_of(seed: int) -> str:
    return MODES[seed % len(MODES)]


def try_draft(
    draft: Draft, mode: str, folder: Path, stand_in: Callable[..., Any] | None = None
) -> Outcome:
    """The outcome of a draft; `stand_in` replaces `anyshape.compile`."""
    path = folder / "generated.py"
    path.write_text(write(draft), encoding="utf-8")
    runner.forget()
    linecache.checkcache(str(path))
    return runner.run(str(path), "generated", mode, stand_in)


def try_seed(
    seed: int,
    folder: Path,
    *,
    calls: int = CALLS,
    mode: str | None = None,
    stand_in: Callable[..., Any] | None = None,
) -> Found:
    """The program of a seed and its outcome."""
    draft = Writer(seed).draft(calls)
    mode = mode or mode_of(seed)
    return Found(seed, mode, try_draft(draft, mode, folder, stand_in), draft)


def shrink(found: Found, folder: Path, stand_in: Callable[..., Any] | None = None) -> Found:
    """The smallest draft that still differs, as far as the budget goes."""
    budget, progress = BUDGET, True
    while progress and budget > 0:
        progress = False
        for draft in smaller(found.draft):
            budget -= 1
            if budget <= 0:
                break
            try:
                outcome = try_draft(draft, found.mode, folder, stand_in)
            except Exception:
                continue  # no longer a program
            if outcome.kind == found.outcome.kind:
                found = found._replace(draft=draft, outcome=outcome)
                progress = True
                break
    return found


def shown(found: Found) -> str:
    """A program as a reader wants it: without the vocabulary."""
    text = write(found.draft)
    start = text.index("    def helper(")
    return f"seed {found.seed}, dynamic {found.mode}: {found.outcome.about}\n{text[start:]}"


def main(arguments: list[str]) -> int:
    """Run many programs; 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential.stateful_programs")
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--mode", choices=list(runner.MODES))
    parser.add_argument("--show", type=int, default=3, help="how many differences to shrink")
    parser.add_argument("--write", action="store_true", help=f"keep the seeds in {KNOWN.name}")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    start, counts, different = time.perf_counter(), collections.Counter[str](), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(asked.seed, asked.seed + asked.programs):
            found = try_seed(seed, folder, calls=asked.calls, mode=asked.mode)
            counts[found.outcome.kind] += 1
            if found.outcome.kind in SILENT:
                different.append(found)
        print(f"{asked.programs} programs, {asked.calls} calls each: {dict(counts)}")
        print(f"{time.perf_counter() - start:.0f} s; seeds: {[f.seed for f in different][:200]}")
        for found in different[: asked.show]:
            print(shown(shrink(found, folder)), flush=True)
    if asked.write:
        KNOWN.write_text(json.dumps([f.seed for f in different]) + "\n", encoding="utf-8")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
