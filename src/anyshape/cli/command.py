"""`command`: what makes a function a command, with the options that all commands have."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.cli.console import Output

_JSON: Final = "Print an object of JSON."
_DEBUG: Final = "Show the traceback of an error."


def command(name: str, *, json: bool = True, **settings: Any) -> Callable[[Any], click.Command]:
    """A decorator: `f(output, **options)` becomes the command, and returns the exit status.

    `settings` are those of click's contexts.
    """

    def make(f: Callable[..., int]) -> click.Command:
        def run(**options: Any) -> int:
            output: Output = click.get_current_context().obj
            output.command = name
            output.json = options.pop("as_json", False)
            output.debug = options.pop("debug")
            return f(output, **options)

        params: list[click.Parameter] = [*reversed(getattr(f, "__click_params__", ()))]
        if json:
            params.append(click.Option(["--json", "as_json"], is_flag=True, help=_JSON))
        params.append(click.Option(["--debug"], is_flag=True, help=_DEBUG))
        return click.Command(
            name, params=params, callback=run, help=inspect.getdoc(f), context_settings=settings
        )

    return make
