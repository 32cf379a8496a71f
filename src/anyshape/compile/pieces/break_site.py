"""Which statement of a function a trace failed at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.trace.twin.twin import twin_code

if TYPE_CHECKING:
    from types import CodeType, TracebackType


class BreakSite(NamedTuple):
    """A place in the source of a function."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def break_site(error: BaseException, code: CodeType) -> BreakSite | None:
    """Where the twin of a function was when an error was raised; None if it was not running."""
    twin = twin_code(code)
    tb: TracebackType | None = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code is twin:
            line, _, column, _ = list(twin.co_positions())[tb.tb_lasti // 2]
            return BreakSite(code.co_filename, line or tb.tb_lineno, column or 0)
        tb = tb.tb_next
    return None
