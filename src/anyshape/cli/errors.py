"""`anyshape errors`."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING, Final

import click

from anyshape.cli import bundled_folder
from anyshape.cli.command import command
from anyshape.error_codes import CODES
from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from anyshape.cli.console import Output

_FENCE: Final = re.compile(r"^```\w*\n", re.MULTILINE)


@command("errors")
@click.argument("code", required=False)
def errors(output: Output, code: str | None) -> int:
    """Print the page of an error code, or list all codes.

    The page shows a program that fails or warns with it, the message, and a program that works.
    """
    if code is None:
        output.table(("code", "error", "title"), [(c, *row) for c, row in CODES.items()])
        output.result(codes={c: row._asdict() for c, row in CODES.items()}, page=None)
        return 0
    name = code.upper()
    if name not in CODES:
        raise ArgumentError(f"there is no error code {code!r}", fix="anyshape errors lists them")
    page = page_of(name)
    output.text(_plain(page))
    output.result(codes={name: CODES[name]._asdict()}, page=page)
    return 0


def page_of(code: str) -> str:
    """The Markdown of a page."""
    file = bundled_folder.find(bundled_folder.PAGES, f"{code}.md")
    if file is None:
        where = bundled_folder.PAGES[0]
        raise ArgumentError(f"the page of {code} is not installed", why=f"there is none in {where}")
    return file.read_text(encoding="utf-8")


def _plain(page: str) -> str:
    """A page for a terminal: programs and messages are indented, without fences."""
    parts = _FENCE.split(page)
    parts[1::2] = [indent(part, "    ") for part in parts[1::2]]
    return "".join(parts).rstrip()
