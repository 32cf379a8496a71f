"""A program for torch's tools: our export and `to_torch()` against torch.export, in one run.

    python benchmarks/to_torch.py                    everything, some minutes
    python benchmarks/to_torch.py --models BERT,Llama
    python benchmarks/to_torch.py --json out.json    the figures as well

Times are processor time of this process with one thread, the best of several runs that alternate;
the first run of each is left out. Both give a `torch.export.ExportedProgram`; ours is
compared with eager execution at another size.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set

from anyshape import export  # noqa: E402
from benchmarks import unbind_split_flip_cat as documents  # noqa: E402
from tests.differential.models import MODELS, built  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

GOAL = 10


class Case(NamedTuple):
    """A program, its arguments, the specs of their sizes, and arguments of other sizes."""

    name: str
    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: Any
    others: tuple[tuple[Any, ...], dict[str, Any]]


class Row(NamedTuple):
    """Seconds of one case, and the nodes of both programs."""

    name: str
    export: float
    to_torch: float
    torch: float
    nodes: int
    nodes_of_torch: int

    @property
    def ratio(self) -> float:
        """How much faster ours is."""
        return self.torch / (self.export + self.to_torch)


def transformer(name: str) -> Case:
    model = built(MODELS[name])
    given = model.inputs(3, 7)
    shapes = {k: {0: "batch", 1: "length"} for k in given}
    return Case(name, model.module, (), given, shapes, ((), model.inputs(2, 5)))


def sequential(_: str) -> Case:
    module = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4)
    ).eval()
    shapes = {"input": {0: "batch"}}
    return Case("Sequential", module, (torch.randn(3, 8),), {}, shapes, ((torch.randn(5, 8),), {}))


def split(name: str) -> Case:
    iterations, batch = map(int, name.split("x"))
    args = documents.model_inputs(iterations, batch)
    shapes = ({0: "n"}, [{}] * iterations)
    return Case(name, documents.Model(), args, {}, shapes, (args, {}))


CASES: dict[str, Callable[[str], Case]] = {
    "Sequential": sequential,
    "BERT": transformer,
    "Llama": transformer,
    "GPT-2": transformer,
    "4x32": split,
}


def for_torch(specs: Any) -> Any:
    """The same specs with every named size dynamic."""
    if isinstance(specs, str):
        return torch.export.Dim.DYNAMIC
    if isinstance(specs, dict):
        return {k: for_torch(v) for k, v in specs.items()}
    return type(specs)(map(for_torch, specs))


def ours(case: Case) -> tuple[float, float, Any]:
    gc.collect()
    start = time.process_time()
    program = export(case.module, case.args, case.kwargs, dynamic_shapes=case.shapes)
    middle = time.process_time()
    made = program.to_torch()
    return middle - start, time.process_time() - middle, made


def theirs(case: Case) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    made = torch.export.export(
        case.module, case.args, case.kwargs, dynamic_shapes=for_torch(case.shapes), strict=False
    )
    return time.process_time() - start, made


def measure(case: Case, repeats: int) -> Row:
    print(f"... {case.name}", file=sys.stderr, flush=True)
    *_, made = ours(case)
    _, of_torch = theirs(case)
    args, kwargs = case.others
    got = torch.utils._pytree.tree_leaves(made.module()(*args, **kwargs))
    want = torch.utils._pytree.tree_leaves(case.module(*args, **kwargs))
    for x, y in zip(got, want, strict=True):
        torch.testing.assert_close(x, y)
    runs = []
    slow = []
    for i in range(repeats):
        runs.append(ours(case)[:2])
        if i < max(1, repeats // 3):
            slow.append(theirs(case)[0])
    best = min(runs, key=sum)
    counts = [len(p.graph.nodes) for p in (made, of_torch)]
    return Row(case.name, *best, min(slow), *counts)


def render(rows: list[Row]) -> str:
    heads = ("program", "nodes", "torch's", "export ms", "to_torch ms", "torch.export ms", "ratio")
    cells = [heads] + [
        (
            r.name,
            str(r.nodes),
            str(r.nodes_of_torch),
            f"{1e3 * r.export:.1f}",
            f"{1e3 * r.to_torch:.1f}",
            f"{1e3 * r.torch:.0f}",
            f"{r.ratio:.1f}x",
        )
        for r in rows
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            c.rjust(w) if i else c.ljust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    least = min(r.ratio for r in rows)
    met = "met" if least >= GOAL else "MISSED"
    lines.append(f"at least {least:.1f} times faster (goal: {GOAL}; {met})")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    rows = [measure(CASES[n](n), options.repeats) for n in options.models.split(",")]
    print(f"Python {platform.python_version()}, torch {torch.__version__}, one thread")
    print(render(rows))
    if options.json:
        Path(options.json).write_text(json.dumps([{**r._asdict(), "ratio": r.ratio} for r in rows]))


if __name__ == "__main__":
    main()
