"""Where in the user's files something was raised."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from anyshape.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator


def raised_by(what: str, error: BaseException) -> ArgumentError:
    """The message for an error of the user's code."""
    found = last_line(error)
    at = "" if found is None else f", at {found[0]}:{found[1]}"
    return ArgumentError(
        f"{what} raised {type(error).__name__}",
        why=f"{error}{at}",
        fix="--debug shows the traceback",
    )


def last_line(error: BaseException) -> tuple[str, int] | None:
    """The file and line of the innermost frame of the user in a traceback."""
    from anyshape.env.site import home_of, is_framework  # the engine, which `--help` does not need

    click = home_of("click")  # which calls the commands
    frames = [f for f in _frames(error) if not is_framework(f[0]) and not f[0].startswith(click)]
    return frames[-1] if frames else None


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
