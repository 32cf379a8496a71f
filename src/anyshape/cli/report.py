"""`anyshape report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from anyshape.cli.command import command
from anyshape.cli.program_form import load_program

if TYPE_CHECKING:
    from anyshape.cli.console import Output


@command("report")
@click.argument("path", type=click.Path(exists=True))
@click.option(
    "--out", type=click.Path(dir_okay=False), help="The HTML file; by default beside PATH."
)
def report(output: Output, path: str, out: str | None) -> int:
    """Write an HTML report of a saved program, or of trace files.

    PATH is a saved program, a trace file, or a folder of them that ANYSHAPE_TRACE names.
    """
    from anyshape.export.report import report_data
    from anyshape.observe.report.of_trace import is_trace, trace_report
    from anyshape.observe.report.page import write

    data = trace_report(path) if is_trace(path) else report_data(load_program(path))
    file = out or str(Path(path).resolve().with_suffix(".html"))
    write(data, file)
    output.text(f"wrote {file}")
    output.result(file=file, title=data.title, kind=data.kind)
    return 0
