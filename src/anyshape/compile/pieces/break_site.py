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


def site_in(running: dict[CodeType, int], code: CodeType) -> BreakSite | None:
    """Where the twin of a function is, given where all twins are."""
    twin = twin_code(code)
    return None if twin not in running else _site(code, twin, running[twin])


def _site(code: CodeType, twin: CodeType, instruction: int) -> BreakSite:
    line, _, column, _ = list(twin.co_positions())[instruction // 2]
    return BreakSite(code.co_filename, line or code.co_firstlineno, column or 0)


def break_site(error: BaseException, code: CodeType) -> BreakSite | None:
    """Where the twin of a function was when an error was raised; None if it was not running."""
    twin = twin_code(code)
    tb: TracebackType | None = error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code is twin:
            return _site(code, twin, tb.tb_lasti)
        tb = tb.tb_next
    return None
