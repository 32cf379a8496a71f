"""Where in the user's code something happened: taken cheaply, formatted only when asked for."""

from __future__ import annotations

import linecache
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anyshape.config import config

if TYPE_CHECKING:
    from types import CodeType, FrameType

_OWN = str(Path(__file__).resolve().parents[1])


class Site(NamedTuple):
    """A place in a program: a code object and the line in it."""

    code: CodeType
    line: int

    @property
    def file(self) -> str:
        """The file name as Python knows it."""
        return self.code.co_filename

    @property
    def text(self) -> str:
        """The source line, without the indent; empty where the source is not at hand."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        text = self.text
        place = f"{Path(self.file).name}:{self.line} in {self.code.co_name}"
        return f"{place}: {text}" if text else place


@lru_cache(maxsize=4096)
def is_framework(filename: str) -> bool:
    """Whether a file belongs to anyshape or torch rather than to the user."""
    return (
        filename.startswith(_OWN)
        or "/site-packages/torch/" in filename
        or filename.startswith("<")
        and filename != "<stdin>"
        and not filename.startswith(("<doctest", "<ipython", "<string"))
    )


def capture() -> Site | None:
    """The innermost frame of the user, or None when sites are switched off."""
    if config.do_not_emit_stack_traces:
        return None
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001  the only way to see a caller cheaply
    while frame is not None:
        code = frame.f_code
        if not is_framework(code.co_filename):
            return Site(code, frame.f_lineno)
        frame = frame.f_back
    return None
