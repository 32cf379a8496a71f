"""The price of tracing: microseconds per op, against one eager forward and against torch.export.

    python benchmarks/capture.py                  everything, about two minutes
    python benchmarks/capture.py --quick          without torch.export, some seconds
    python benchmarks/capture.py --models BERT,Llama --dynamic unbacked
    python benchmarks/capture.py --profile Llama  where the time of a trace goes
    python benchmarks/capture.py --json out.json  the figures as well

A trace has all that users get: strides, guards, the line of every op. All times are processor time
of this thread, the best of several runs that alternate with each other; torch uses one thread.
torch.export (non-strict) runs once or twice, after one warm-up on another model.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import logging
import os
import platform
import pstats
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402  after the path is set
from torch import nn  # noqa: E402

from anyshape.trace import capture  # noqa: E402
from tests.differential.models import MODELS, Model, built  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH, LENGTH = 3, 7
GOAL_EAGER, GOAL_EXPORT = 1.5, 300


class Row(NamedTuple):
    """The figures of one model, in seconds."""

    model: str
    ops: int
    trace: float
    eager: float
    export: float | None
    note: str = ""


class Block(nn.Module):
    """A transformer block: attention and a feed-forward net, written with plain ops."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A batch of sequences to another of the same shape."""
        b, s, width = x.shape
        q, k, v = self.project(self.before(x)).chunk(3, -1)
        q, k, v = (t.view(b, s, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, s, width))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


def mlp() -> Model:
    net = nn.Sequential(
        nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)
    )
    return Model(net, lambda b, _: {"input": torch.randn(b, 16)}, (0,))


def block() -> Model:
    return Model(Block(), lambda b, s: {"x": torch.randn(b, s, 32)})


ALL: dict[str, Callable[[], Model]] = {"MLP": mlp, "block": block, **MODELS}


def main() -> int:
    """Measure the models one after another and print the table."""
    options = _options()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if options.profile:
        _profile(options.profile, options.dynamic)
        return 0
    started = time.time()
    if not options.quick:
        _export(built(mlp))
    rows = []
    for name in options.models.split(","):
        print(f"... {name}", file=sys.stderr, flush=True)
        rows.append(_measure(name, options))
    machine = (
        f"Python {platform.python_version()}, torch {torch.__version__}, {os.cpu_count()} cores"
    )
    print(_render(rows))
    print(
        f"\n{options.dynamic} batch and length; {machine}; whole run {time.time() - started:.0f} s"
    )
    if options.json:
        document = {"machine": machine, "results": [row._asdict() for row in rows]}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave torch.export out")
    parser.add_argument("--models", default=",".join(ALL), help="of " + ", ".join(ALL))
    parser.add_argument("--dynamic", default="backed", choices=("backed", "unbacked"))
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--profile", metavar="MODEL", help="profile the trace of one model")
    parser.add_argument("--json", metavar="PATH", help="also write the figures here")
    options = parser.parse_args()
    unknown = [n for n in (options.profile or options.models).split(",") if n not in ALL]
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(ALL)}")
    return options


# ---------------------------------------------------------------------- one model


def _measure(name: str, options: argparse.Namespace) -> Row:
    model = built(ALL[name])
    inputs = model.inputs(BATCH, LENGTH)

    def trace() -> Any:
        return capture(model.module, (), inputs, dynamic=_chooser(model, inputs, options.dynamic))

    def eager() -> Any:
        return model.module(**inputs)

    try:
        ops = len(trace().graph.nodes)
    except Exception as e:  # one model's failure is a row of the table
        return Row(name, 0, 0.0, 0.0, None, f"{type(e).__name__}: {e}".partition("\n")[0][:90])
    trace_time, eager_time = _best([trace, eager], options.repeats)
    export, note = (None, "") if options.quick else _export(model)
    return Row(name, ops, trace_time, eager_time, export, note)


def _best(functions: list[Callable[[], Any]], repeats: int) -> list[float]:
    """The best time of each, run in turns."""
    best = [float("inf")] * len(functions)
    gc.collect()
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = time.thread_time()
            function()
            best[i] = min(best[i], time.thread_time() - start)
    return best


def varies(name: str, dim: int, model: Model) -> bool:
    """Whether that dimension of that input is traced as a symbol."""
    return dim in model.dynamic and not (name == "input_features" and dim > 0)


def _chooser(model: Model, inputs: dict[str, torch.Tensor], kind: str) -> Callable[[Any], Any]:
    names = list(inputs)
    minimum = {"min": 2}

    def choose(spot: Any) -> Any:
        if spot.dim is None or not varies(names[spot.leaf], spot.dim, model):
            return "static"
        return (kind, minimum) if kind == "unbacked" else kind

    return choose


def _export(model: Model) -> tuple[float | None, str]:
    """The time of torch.export, the better of two runs where one is short."""
    inputs = model.inputs(BATCH, LENGTH)
    shapes = {
        name: {d: torch.export.Dim.AUTO for d in range(t.dim()) if varies(name, d, model)}
        for name, t in inputs.items()
    }
    times: list[float] = []
    while len(times) < 2 and sum(times) < 4:
        start = time.thread_time()
        try:
            torch.export.export(model.module, (), inputs, dynamic_shapes=shapes, strict=False)
        except Exception as e:  # part of the comparison
            return None, f"export: {type(e).__name__}: {e}".partition("\n")[0][:60]
        times.append(time.thread_time() - start)
    return min(times), ""


# ---------------------------------------------------------------------- output

_HEADS = ("model", "ops", "trace ms", "us/op", "eager ms", "of eager", "export s", "of export", "")


def _render(rows: list[Row]) -> str:
    cells = [_HEADS]
    for r in rows:
        if not r.ops:
            cells.append((r.model, *[""] * 7, r.note))
            continue
        cells.append(
            (
                r.model,
                str(r.ops),
                f"{1e3 * r.trace:.2f}",
                f"{1e6 * r.trace / r.ops:.1f}",
                f"{1e3 * r.eager:.2f}",
                f"{r.trace / r.eager:.2f}x",
                "" if r.export is None else f"{r.export:.2f}",
                "" if r.export is None else f"1/{r.export / r.trace:.0f}",
                r.note,
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            c.ljust(w) if i in (0, 8) else c.rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    done = [r for r in rows if r.ops]
    over = [r.model for r in done if r.trace > GOAL_EAGER * r.eager]
    slow = [r.model for r in done if r.export is not None and r.export < GOAL_EXPORT * r.trace]
    lines.append(f"\nabove {GOAL_EAGER} times an eager forward: {', '.join(over) or 'none'}")
    if any(r.export is not None for r in rows):
        lines.append(
            f"less than {GOAL_EXPORT} times faster than torch.export: {', '.join(slow) or 'none'}"
        )
    return "\n".join(lines)


def _profile(name: str, kind: str) -> None:
    model = built(ALL[name])
    inputs = model.inputs(BATCH, LENGTH)
    choose = _chooser(model, inputs, kind)
    for _ in range(5):
        ops = len(capture(model.module, (), inputs, dynamic=choose).graph.nodes)
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(20):
        capture(model.module, (), inputs, dynamic=choose)
    profile.disable()
    print(f"20 traces of {name}, {ops} ops each")
    pstats.Stats(profile).strip_dirs().sort_stats("tottime").print_stats(15)


if __name__ == "__main__":
    sys.exit(main())
