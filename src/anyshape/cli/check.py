"""`anyshape check`."""

from __future__ import annotations

import contextlib
import runpy
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anyshape.cli.command import command
from anyshape.cli.program_form import counted
from anyshape.cli.schema import NEGATIVE, SUCCESS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.cli.console import Output
    from anyshape.cli.finding import Finding, Watch


@command("check", allow_interspersed_args=False)
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice(["recompilation", "break", "fallback"]),
    help="What is told but is no failure; may be repeated.",
)
@click.option(
    "--torch", "as_torch", is_flag=True, help="Let torch.compile and torch.export.export be ours."
)
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def check(
    output: Output, allow: tuple[str, ...], as_torch: bool, script: str, arguments: tuple[str, ...]
) -> int:
    """Run a script and tell what recompiles, breaks or fails, and what to mark.

    Options of this command come before SCRIPT; what follows it is for the script.
    """
    from anyshape.cli.finding import Watch

    watch = Watch()
    with output.for_user(), watch, _replacing() if as_torch else contextlib.nullcontext():
        _run(output, watch, script, arguments)
    found = sorted(watch.findings.values(), key=lambda f: (f.file, f.line))
    bad = [f for f in found if f.kind not in allow]
    for finding in found:
        output.text(*_lines(finding, finding.kind in allow))
    functions = [
        {"name": name, "traces": traces, "calls": calls}
        for name, (traces, calls) in watch.functions.items()
    ]
    traces = sum(traces for traces, _ in watch.functions.values())
    counts = f"{counted(len(functions), 'function')}, {counted(traces, 'trace')}"
    output.text(f"{script}: {counts}, {counted(len(bad), 'finding')}" + _allowed(found, bad))
    output.result(
        script=script,
        good=not bad,
        functions=functions,
        findings=[f.members(f.kind in allow) for f in found],
    )
    return NEGATIVE if bad else SUCCESS


def _allowed(found: list[Finding], bad: list[Finding]) -> str:
    rest = len(found) - len(bad)
    return f" and {rest} allowed" if rest else ""


def _lines(finding: Finding, is_allowed: bool) -> Iterator[str]:
    from anyshape.observe.logs import near

    times = f", {finding.count} times" if finding.count > 1 else ""
    allowed = ", allowed" if is_allowed else ""
    of = f" of {finding.function}" if finding.function else ""
    place = f"{near(finding.file)}:{finding.line}: " if finding.file else ""
    yield f"{place}{finding.kind}{of}{times}{allowed}: {finding.text}"
    if finding.called_at is not None:
        yield f"  called at: {near(finding.called_at)}"
    if finding.fix:
        yield f"  fix: {finding.fix}"


def _run(output: Output, watch: Watch, script: str, arguments: tuple[str, ...]) -> None:
    """Run a script as Python does, and note the error that ends it."""
    from anyshape.cli.user_place import last_line

    argv, path = sys.argv, sys.path[:]
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as e:
        if e.code not in (None, 0):
            watch.raised(e, (str(Path(script).resolve()), 1))
    except Exception as e:
        if output.debug:
            traceback.print_exc()
        line = getattr(e, "lineno", None) if isinstance(e, SyntaxError) else None
        watch.raised(e, (script, line) if line else last_line(e) or (script, 1))
    finally:
        sys.argv, sys.path[:] = argv, path


@contextlib.contextmanager
def _replacing() -> Iterator[None]:
    """Let `torch.compile` and `torch.export.export` be ours in a block; the backend is "eager"."""
    import torch

    import anyshape

    def compile(model: Any = None, **options: Any) -> Any:
        options.pop("mode", None)
        options.pop("options", None)
        return anyshape.compile(model, **{**options, "backend": "eager"})

    def export(mod: Any, args: Any, kwargs: Any = None, **options: Any) -> Any:
        return anyshape.export(mod, tuple(args), kwargs, **options)

    own: Any = torch
    before = own.compile, own.export.export
    own.compile, own.export.export = compile, export
    try:
        yield
    finally:
        own.compile, own.export.export = before
