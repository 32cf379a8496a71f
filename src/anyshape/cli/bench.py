"""`anyshape bench`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import click

import anyshape
from anyshape.cli.command import command
from anyshape.cli.target import read_target
from anyshape.cli.verify import shapes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.cli.console import Output
    from anyshape.cli.target import Call

_ROUNDS: Final = 5


@command("bench")
@click.argument("target")
@click.option("--backend", default="eager", help="The backend of the compiled function.")
@click.option("--seconds", default=0.5, help="How long to measure each call, about.")
def bench(output: Output, target: str, backend: str, seconds: float) -> int:
    """Measure a program: eager, exported and compiled.

    TARGET is pkg.module:factory; its example and its calls are measured, without gradients.
    """
    import torch

    made = read_target(target, output)
    with torch.no_grad(), output.for_user():
        start = time.perf_counter()
        program = anyshape.export(
            made.fn, *made.example, dynamic_shapes=made.dynamic_shapes, allow_partial=True
        )
        export_seconds = time.perf_counter() - start
        compiled = anyshape.compile(made.fn, dynamic=True, backend=backend)
        start = time.perf_counter()
        compiled(*made.example.args, **made.example.kwargs)
        compile_seconds = time.perf_counter() - start
        rows = []
        for call in output.track([made.example, *made.calls], "bench"):
            each = [_microseconds(f, call, seconds / 3) for f in (made.fn, program, compiled)]
            rows.append((shapes_of(call), *each))
    output.text(
        f"{program.name}: exported in {export_seconds:.2f} s, compiled in {compile_seconds:.2f} s"
    )
    shown = [(shapes, *[f"{us:.1f}" for us in each]) for shapes, *each in rows]
    output.table(("shapes", "eager, us", "program, us", f"compiled ({backend}), us"), shown)
    keys = ("shapes", "eager", "program", "compiled")
    output.result(
        name=program.name,
        backend=backend,
        export_seconds=export_seconds,
        compile_seconds=compile_seconds,
        calls=[dict(zip(keys, row, strict=True)) for row in rows],
    )
    return 0


def _microseconds(f: Callable[..., Any], call: Call, seconds: float) -> float:
    """The time of one call: the best of some rounds that take about so many seconds."""
    f(*call.args, **call.kwargs)
    start = time.perf_counter()
    f(*call.args, **call.kwargs)
    once = max(time.perf_counter() - start, 1e-7)
    count = max(1, min(10_000, int(seconds / _ROUNDS / once)))
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            f(*call.args, **call.kwargs)
        best = min(best, time.perf_counter() - start)
    return best / count * 1e6
