"""`anyshape verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anyshape.cli.command import command
from anyshape.cli.made_input import SIZES_HELP, each_choice, made_call, read_sizes
from anyshape.cli.program_form import counted, load_program
from anyshape.cli.schema import NEGATIVE, SUCCESS
from anyshape.cli.target import Call, read_target

if TYPE_CHECKING:
    from anyshape.cli.console import Output
    from anyshape.export import ExportedProgram


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
    others = [] if report.ok else other_weights(program, made.fn)
    if others:
        output.text(
            f"{counted(len(others), 'tensor')} of {program.name} and {target} differ, such as"
            f" {others[0]}: let the factory load the weights, or call torch.manual_seed first"
        )
    listed = [{"shapes": r.shapes, "outcome": r.outcome, "detail": r.detail} for r in rows]
    output.result(name=program.name, equal=report.ok, calls=listed, other_weights=others)
    return SUCCESS if report.ok else NEGATIVE


class _Whole:
    """A call as one argument."""

    def __init__(self, call: Call) -> None:
        self.args, self.kwargs = call


def other_weights(program: ExportedProgram, fn: Any) -> list[str]:
    """The names of the tensors of a program that a module has with other values."""
    import torch

    if not isinstance(fn, torch.nn.Module):
        return []
    held, given = program.state_dict(), fn.state_dict()
    return [
        name
        for name, t in held.items()
        if name in given and not torch.equal(t.cpu(), given[name].cpu())
    ]


def shapes_of(call: Call) -> str:
    """The shapes of the tensors of a call."""
    import torch

    from anyshape.trace import tree

    leaves = tree.flatten((call.args, call.kwargs))[0]
    return ", ".join(str(tuple(x.shape)) for x in leaves if isinstance(x, torch.Tensor))
