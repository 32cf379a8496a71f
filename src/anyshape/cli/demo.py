"""`anyshape demo`."""

from __future__ import annotations

import ast
import runpy
import sys
from typing import TYPE_CHECKING, Final

import click

from anyshape.cli import bundled_folder
from anyshape.cli.command import command
from anyshape.errors import ArgumentError, nearest

if TYPE_CHECKING:
    from pathlib import Path

    from anyshape.cli.console import Output

FIRST: Final = "experts"


@command("demo", json=False)
@click.argument("name", default=FIRST)
@click.option("--list", "lists", is_flag=True, help="List the examples.")
def demo(output: Output, name: str, *, lists: bool) -> int:
    """Run an example: without a name, a model that is exported and run at several sizes."""
    known = bundled_folder.names(bundled_folder.EXAMPLES, ".py")
    if lists:
        rows = [(n, _about(_file(n, known))) for n in known]
        output.table(("example", "what it is"), rows)
        return 0
    file = str(_file(name, known))
    arguments, sys.argv = sys.argv, [file]
    try:
        runpy.run_path(file, run_name="__main__")
    finally:
        sys.argv = arguments
    return 0


def _file(name: str, known: list[str]) -> Path:
    found = bundled_folder.find(bundled_folder.EXAMPLES, f"{name}.py")
    if found is None or name not in known:
        there = ", ".join(known)
        raise ArgumentError(
            f"there is no example {name!r}", fix=f"{nearest(name, known)}there are: {there}"
        )
    return found


def _about(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split("\n")[0]
