"""Programs with sizes from data, exported by torch.export and by ours: right, and how fast.

    python benchmarks/workloads.py                 everything, about a minute
    python benchmarks/workloads.py --quick         without torch.export
    python benchmarks/workloads.py --programs "experts,windows"
    python benchmarks/workloads.py --json out.json

Each program is exported once and run at twelve sizes; `right` counts those where it gives what
eager execution gives. torch.export gets `Dim.DYNAMIC` where ours gets a named size. Times are
processor time, the best of several runs for ours and of two for torch.export after one to warm up;
ours includes the asserts and the generated code.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set
from torch.utils import _pytree as pytree  # noqa: E402

from anyshape.export import export  # noqa: E402
from tests.differential.workload_programs import PROGRAMS, UniqueEmbedding, Workload  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE = 5
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 11, 16, 33, 64)
SEED = 1


class Side(NamedTuple):
    """What one exporter made of a program: sizes that are right, seconds, the first failure."""

    right: int
    seconds: float | None
    note: str


class Row(NamedTuple):
    """One program."""

    program: str
    nodes: int
    ours: Side
    torch: Side | None


class Module(torch.nn.Module):
    """A program as torch.export wants it."""

    def __init__(self, program: Workload) -> None:
        super().__init__()
        self.program = program

    def forward(self, *args: Any) -> Any:
        """Run the program."""
        return self.program(*args)


def ours(workload: Workload, args: tuple[Any, ...]) -> Any:
    program = export(workload, args, dynamic_shapes=workload.dynamic)
    _ = program.code
    return program


def theirs(workload: Workload, args: tuple[Any, ...]) -> Any:
    shapes = tuple(dict.fromkeys(d, torch.export.Dim.DYNAMIC) for d in workload.dynamic)
    return torch.export.export(Module(workload), args, dynamic_shapes=(shapes,), strict=False)


def side(
    workload: Workload, exporter: Callable[[Workload, tuple[Any, ...]], Any], repeats: int
) -> tuple[Side, Any]:
    """Export and compare with eager execution at all sizes."""
    args = workload.inputs(0, EXAMPLE)
    seconds = float("inf")
    exported: Any = None
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        try:
            exported = exporter(workload, args)
        except Exception as e:  # part of the comparison
            return Side(0, None, _brief(e)), None
        seconds = min(seconds, time.process_time() - start)
    run = exported.module() if isinstance(exported, torch.export.ExportedProgram) else exported
    right, note = 0, ""
    for n in SIZES:
        found = _differs(run, workload, workload.inputs(SEED, n))
        right += found is None
        note = note or (f"at {n}: {found}" if found else "")
    return Side(right, seconds, note), exported


def _differs(run: Callable[..., Any], workload: Workload, args: tuple[Any, ...]) -> str | None:
    want = pytree.tree_leaves(workload(*args))
    try:
        got = pytree.tree_leaves(run(*args))
    except Exception as e:  # part of the comparison
        return _brief(e)
    for a, b in zip(got, want, strict=True):
        if isinstance(b, torch.Tensor):
            if a.shape != b.shape or not torch.allclose(a, b, atol=1e-5, equal_nan=True):
                return "another result"
        elif a != b:
            return "another number"
    return None


def _brief(e: Exception) -> str:
    lines = str(e).strip().splitlines() or [""]
    return f"{type(e).__name__}: {lines[0]}"[:70]


def measure(name: str, options: argparse.Namespace) -> Row:
    print(f"... {name}", file=sys.stderr, flush=True)
    workload = PROGRAMS[name]
    own, program = side(workload, ours, options.repeats)
    other = None if options.quick else side(workload, theirs, 2)[0]
    return Row(name, len(program.graph.nodes) if program is not None else 0, own, other)


# ---------------------------------------------------------------------- output

_HEADS = ("program", "nodes", "ours", "ms", "torch.export", "s", "ratio", "")


def render(rows: list[Row]) -> str:
    cells = [_HEADS]
    for r in rows:
        own, other = r.ours, r.torch
        ratio = ""
        if own.seconds is not None and other is not None and other.seconds is not None:
            ratio = f"{other.seconds / own.seconds:.0f}x"
        notes = [f"ours {own.note}"] if own.note else []
        notes += [f"torch {other.note}"] if other is not None and other.note else []
        cells.append(
            (
                r.program,
                str(r.nodes),
                f"{own.right}/{len(SIZES)}",
                "" if own.seconds is None else f"{1e3 * own.seconds:.2f}",
                "" if other is None else f"{other.right}/{len(SIZES)}",
                "" if other is None or other.seconds is None else f"{other.seconds:.2f}",
                ratio,
                "; ".join(notes),
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            c.ljust(w) if i in (0, 7) else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    whole = sum(r.ours.right == len(SIZES) for r in rows)
    lines.append(f"\nright at all {len(SIZES)} sizes: ours {whole} of {len(rows)}")
    if rows and rows[0].torch is not None:
        whole = sum(r.torch is not None and r.torch.right == len(SIZES) for r in rows)
        lines[-1] += f", torch.export {whole} of {len(rows)}"
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave torch.export out")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="of " + ", ".join(PROGRAMS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    unknown = [n for n in options.programs.split(",") if n not in PROGRAMS]
    if unknown:
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    return options


def main() -> int:
    """Measure the programs one after another and print the table."""
    options = _options()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    started = time.time()
    for exporter in (ours,) if options.quick else (ours, theirs):
        exporter(UniqueEmbedding(), UniqueEmbedding().inputs(0, EXAMPLE))
    rows = [measure(name, options) for name in options.programs.split(",")]
    machine = (
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores"
    )
    print(f"{render(rows)}\n\n{machine}; whole run {time.time() - started:.0f} s")
    if options.json:
        results = [
            {**r._asdict(), "ours": r.ours._asdict(), "torch": r.torch and r.torch._asdict()}
            for r in rows
        ]
        document = {"machine": machine, "sizes": SIZES, "results": results}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
