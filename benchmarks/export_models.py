"""Exports of seven transformers with all their variants, against torch.export, in one run.

    python benchmarks/export_models.py                    everything, about two minutes
    python benchmarks/export_models.py --quick            without torch.export
    python benchmarks/export_models.py --models BERT,T5 --json out.json

Both export the same modules with the same sizes dynamic. Ours has every variant, its guards, its
asserts and its code. Times are processor time of this thread, the best of several runs after one to
warm up; `traces` is how often a program was traced for it.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set

from anyshape import export  # noqa: E402
from anyshape.events import TraceStart, subscribe  # noqa: E402
from benchmarks.to_torch import for_torch  # noqa: E402
from tests.onward.programs import PROGRAMS, Program  # noqa: E402

MODELS = ("BERT", "GPT-2", "Llama", "T5", "ViT", "Whisper", "Mixtral")
GOAL = 100


class Row(NamedTuple):
    """The figures of one model, in seconds."""

    model: str
    nodes: int
    variants: int
    traces: int
    seconds: float
    torch: float | None
    note: str = ""


def ours(program: Program) -> Any:
    (args, kwargs), *_ = program.calls
    made = export(program.module, args, kwargs, dynamic_shapes=program.dynamic)
    _ = made.runtime_asserts, made.code
    return made


def theirs(program: Program) -> Any:
    (args, kwargs), *_ = program.calls
    shapes = for_torch(program.dynamic)
    return torch.export.export(program.module, args, kwargs, dynamic_shapes=shapes, strict=False)


def timed(call: Any, program: Program) -> float:
    gc.collect()
    start = time.thread_time()
    call(program)
    return time.thread_time() - start


def measure(name: str, repeats: int, *, with_torch: bool) -> Row:
    print(f"... {name}", file=sys.stderr, flush=True)
    program = PROGRAMS[name]()
    starts: list[Any] = []
    with subscribe(starts.append, TraceStart):
        made = ours(program)
    nodes = sum(len(part.graph.nodes) for v in made.variants for part in v.parts)
    seconds, note = None, ""
    best = min(timed(ours, program) for _ in range(repeats))
    if with_torch:
        try:
            theirs(program)
            seconds = min(timed(theirs, program) for _ in range(2))
        except Exception as e:  # part of the comparison
            note = f"{type(e).__name__}: {e}".partition("\n")[0][:60]
    best = min(best, *[timed(ours, program) for _ in range(repeats)])
    return Row(name, nodes, len(made.variants), len(starts), best, seconds, note)


def render(rows: list[Row]) -> str:
    heads = ("nodes", "variants", "traces", "ours ms", "torch s", "ratio")
    lines = [f"{'model':8}" + "".join(f" {h:>8}" for h in heads)]
    for r in rows:
        line = f"{r.model:8} {r.nodes:8} {r.variants:8} {r.traces:8} {1e3 * r.seconds:8.1f}"
        line += " " + r.note if r.torch is None else f" {r.torch:8.2f} {r.torch / r.seconds:7.0f}x"
        lines.append(line)
    slow = [r.model for r in rows if r.torch is not None and r.torch < GOAL * r.seconds]
    if any(r.torch is not None for r in rows):
        lines.append(f"\nless than {GOAL} times faster: {', '.join(slow) or 'none'}")
    return "\n".join(lines)


def main() -> None:
    """Measure the models one after another and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--quick", action="store_true", help="leave torch.export out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    names = options.models.split(",")
    rows = [measure(n, options.repeats, with_torch=not options.quick) for n in names]
    print(f"{render(rows)}\n\ntorch {torch.__version__}")
    if options.json:
        figures = [r._asdict() for r in rows]
        Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
