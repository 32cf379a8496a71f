"""`anyshape verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anyshape.cli.command import command
from anyshape.cli.made_input import SIZES_HELP, each_choice, made_call, read_sizes
from anyshape.cli.program_form import load_program
from anyshape.cli.schema import NEGATIVE, SUCCESS
from anyshape.cli.target import Call, read_target

if TYPE_CHECKING:
    from anyshape.cli.output import Output


@command("verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("target")
@click.option("--size", "sizes", multiple=True, help=SIZES_HELP)
@click.option("--seed", default=0, help="The seed of the inputs that are made.")
@click.option("--below", default=2, help="Integers that are made are below this.")
def verify(
    output: Output, file: str, target: str, sizes: tuple[str, ...], seed: int, below: int
) -> int:
    """Compare a saved program with eager execution.

    TARGET is pkg.module:factory, which gives the function, its example and more calls. With --size,
    calls with random inputs of these sizes are compared too.
    """
    from anyshape.export.verify import Report
    from anyshape.export.verify import verify as compare

    chosen = read_sizes(sizes)
    program: Any = load_program(file)
    made = read_target(target, output)
    calls = [made.example, *made.calls]
    if chosen:
        calls += [made_call(program, c, seed=seed, below=below) for c in each_choice(chosen)]

    def on(f: Any) -> Any:
        return lambda call: f(*call.args, **call.kwargs)

    rows = []
    with output.for_user():
        for i, call in enumerate(output.track(calls, "verify")):
            (row,) = compare(on(program), [(_Whole(call),)], on(made.fn)).rows
            rows.append(row._replace(call=i, shapes=shapes_of(call)))
    report = Report(rows)
    output.text(report)
    listed = [{"shapes": r.shapes, "outcome": r.outcome, "detail": r.detail} for r in rows]
    output.result(name=program.name, equal=report.ok, calls=listed)
    return SUCCESS if report.ok else NEGATIVE


class _Whole:
    """A call as one argument."""

    def __init__(self, call: Call) -> None:
        self.args, self.kwargs = call


def shapes_of(call: Call) -> str:
    """The shapes of the tensors of a call."""
    import torch

    from anyshape.trace import tree

    leaves = tree.flatten((call.args, call.kwargs))[0]
    return ", ".join(str(tuple(x.shape)) for x in leaves if isinstance(x, torch.Tensor))
