"""The entry point: finds the command, runs it, and turns what it raises into a message.

Nothing here or in the modules of the commands imports torch before a command runs.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import click

from anyshape.cli.console import Output
from anyshape.cli.interrupt import kept_interrupts
from anyshape.cli.schema import ERROR, INTERRUPTED, SUCCESS
from anyshape.cli.user_place import last_line, raised_by
from anyshape.errors import AnyshapeError, AnyshapeWarning, nearest
from anyshape.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS: Final[dict[str, str]] = {  # each in the module of its name
    "demo": "Run an example: without a name, a model that is exported and run at several sizes.",
    "check": "Run a script and tell what recompiles, breaks or fails, and what to mark.",
    "export": "Export a program and write it to a file.",
    "infer": "Print the dynamic_shapes that several calls show.",
    "info": "Tell what a saved program accepts and holds.",
    "errors": "Print the page of an error code, or list all codes.",
    "explain": "Explain a saved program, or one of its symbols.",
    "report": "Write an HTML report of a saved program, or of trace files.",
    "run": "Run a saved program.",
    "verify": "Compare a saved program with eager execution.",
    "diff": "Compare two saved programs.",
    "bench": "Measure a program: eager, exported and compiled.",
}


class _Group(click.Group):
    """Loads a command when it is run; the list of the commands loads none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"anyshape.cli.{cmd_name}"), cmd_name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            meant = nearest(args[0], COMMANDS)
            ctx.fail(f"No such command {args[0]!r}. {meant.capitalize()}".strip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="anyshape")
def anyshape() -> None:
    """Symbolic shapes for PyTorch: compile or export once, run at any shape."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status."""
    output = Output()
    arguments = list(sys.argv[1:] if argv is None else argv)
    with warnings.catch_warnings():
        warnings.showwarning = _brief(warnings.showwarning)
        return _run(output, arguments)


def _brief(show: Callable[..., None]) -> Callable[..., None]:
    """Show a warning of ours as a message, without a line of anyshape; others as `show` does."""

    def brief(message: Any, category: type[Warning], *place: Any) -> None:
        if issubclass(category, AnyshapeWarning):
            print(f"anyshape: warning: {message}", file=sys.stderr)
        else:
            show(message, category, *place)

    return brief


def _run(output: Output, arguments: list[str]) -> int:
    try:
        with kept_interrupts():
            status: Any = anyshape.main(arguments, "anyshape", obj=output, standalone_mode=False)
        return SUCCESS if status is None else int(status)
    except click.ClickException as error:  # the command line is wrong
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("anyshape: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        return ERROR
    except AnyshapeError as error:
        if output.debug:
            traceback.print_exc()
        output.error(error)
        return ERROR
    except Exception as error:
        if last_line(error) is None:  # it is no error of the user's program
            raise
        if output.debug:
            traceback.print_exc()
        output.error(raised_by("the program", error))
        return ERROR
