"""`anyshape diff`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

import click

from anyshape.cli.command import command
from anyshape.cli.program_form import load_program
from anyshape.cli.schema import NEGATIVE, SUCCESS

if TYPE_CHECKING:
    from anyshape.cli.console import Output
    from anyshape.export import ExportedProgram

_UNIFIED: Final = ("---", "+++", "@@")


@command("diff")
@click.argument("a", type=click.Path(exists=True, dir_okay=False))
@click.argument("b", type=click.Path(exists=True, dir_okay=False))
def diff(output: Output, a: str, b: str) -> int:
    """Compare two saved programs.

    They are the same if they accept, compute and hold the same.
    """
    before, after = sections_of(load_program(a)), sections_of(load_program(b))
    found = {}
    for title in before:
        lines = list(difflib.unified_diff(before[title], after[title], n=0, lineterm=""))
        changed = [line for line in lines if not line.startswith(_UNIFIED)]
        if changed:
            found[title] = {
                "removed": [line[1:] for line in changed if line.startswith("-")],
                "added": [line[1:] for line in changed if line.startswith("+")],
            }
            output.text(f"{title}:", *[f"{line[0]} {line[1:]}" for line in changed])
    output.text(*([] if found else ["the programs are the same"]))
    output.result(equal=not found, sections=found)
    return NEGATIVE if found else SUCCESS


def sections_of(program: ExportedProgram) -> dict[str, list[str]]:
    """The parts of a program as lines."""
    contract = program.contract()
    described = dict.fromkeys(contract.full().splitlines())
    return {
        "name": [program.name],
        "contract": list(described),
        "deviations": [str(d) for d in program.deviations],
        "code": program.code.splitlines(),
        "state": _state(program),
    }


def _state(program: ExportedProgram) -> list[str]:
    """A line for each tensor, with a sum of its bytes."""
    import hashlib

    import torch

    lines = []
    for name, t in program.state.items():
        content = t.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        dtype = str(t.dtype).removeprefix("torch.")
        lines.append(f"{name}: {dtype}{list(t.shape)} sha256 {digest}")
    return lines
