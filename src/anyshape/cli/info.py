"""`anyshape info`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from anyshape.cli.command import command
from anyshape.cli.program_form import calls_of, counted, load_program, members_of, size_text

if TYPE_CHECKING:
    from anyshape.cli.console import Output


@command("info")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--full", is_flag=True, help="Leave nothing out of the contract.")
@click.option("--code", is_flag=True, help="Print the generated Python too.")
def info(output: Output, file: str, full: bool, code: bool) -> int:
    """Tell what a saved program accepts and holds."""
    program = load_program(file)
    members = members_of(program, file)
    contract = program.contract()
    counts = [
        counted(len(program.variants), "variant"),
        counted(calls_of(program), "call"),
        counted(len(program.state), "tensor"),
        size_text(members["bytes"]),
    ]
    output.text(f"{program.name}: {', '.join(counts)}", contract.full() if full else contract)
    lines = program.state.lines()
    output.text(*(["state:", *[f"  {line}" for line in lines]] if lines else []))
    output.text(*[f"deviation: {d}" for d in program.deviations])
    output.text(*([program.code] if code else []))
    state = [
        {"name": n, "dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape)}
        for n, t in program.state.items()
    ]
    output.result(**members, state=state)
    return 0
