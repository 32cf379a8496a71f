"""Where in the user's files something was raised."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from anyshape.env.site import is_framework

if TYPE_CHECKING:
    from collections.abc import Iterator


def last_line(error: BaseException) -> tuple[str, int] | None:
    """The file and line of the innermost frame of the user in a traceback."""
    frames = [f for f in _frames(error) if not is_framework(f[0])]
    return frames[-1] if frames else None


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
