"""`anyshape export`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import click

import anyshape
from anyshape.cli.command import command
from anyshape.cli.program_form import calls_of, counted, members_of, size_text
from anyshape.cli.schema import NEGATIVE, SUCCESS
from anyshape.cli.target import read_target

if TYPE_CHECKING:
    from anyshape.cli.console import Output


@command("export")
@click.argument("target")
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The file to write.")
@click.option("--on-deviation", type=click.Choice(["follow", "raise"]), default="follow")
@click.option("--control-flow", type=click.Choice(["tree", "raise"]), default="tree")
@click.option("--allow-partial", is_flag=True, help="Allow sizes that the program refuses.")
@click.option("--draft", is_flag=True, help="Go on after problems, and list them all.")
@click.option("--profile", type=click.Path(file_okay=False), help="A folder for a profile.")
def export(
    output: Output,
    target: str,
    out: str,
    on_deviation: Literal["follow", "raise"],
    control_flow: Literal["tree", "raise"],
    allow_partial: bool,
    draft: bool,
    profile: str | None,
) -> int:
    """Export a program and write it to a file.

    TARGET is pkg.module:factory or path/file.py:factory: a function that returns (fn, args), (fn,
    args, dynamic_shapes) or a dict with fn, args, kwargs, dynamic_shapes and calls.
    """
    made = read_target(target, output)
    start = time.perf_counter()
    with output.for_user():
        program = anyshape.export(
            made.fn,
            made.example.args,
            made.example.kwargs,
            dynamic_shapes=made.dynamic_shapes,
            on_deviation=on_deviation,
            control_flow=control_flow,
            allow_partial=allow_partial,
            draft=draft,
            profile=profile,
        )
        seconds = time.perf_counter() - start
        program.save(out)
    members = members_of(program, out)
    counts = [counted(calls_of(program), "call"), counted(len(program.variants), "variant")]
    output.text(
        f"{program.name}: exported in {seconds:.2f} s, {', '.join(counts)}",
        program.contract(),
        *program.problems,
        f"written to {out} ({size_text(members['bytes'])})",
    )
    problems = [{"what": p.what, "why": p.why, "fix": p.fix} for p in program.problems]
    output.result(**members, seconds=seconds, problems=problems)
    return NEGATIVE if problems else SUCCESS
