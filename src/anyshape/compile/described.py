"""`Described`: how a compiled function shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from anyshape.compile.explanation import explain, name_of
from anyshape.compile.report import report
from anyshape.errors import counted
from anyshape.observe.report.notebook import text_html
from anyshape.public_call import need_path, public

if TYPE_CHECKING:
    import os

    from anyshape.compile.compiled import Compiled


class Described:
    """The texts and the report of a compiled function."""

    fn: Any

    @public
    def explain(self) -> str:
        """The entries with their guards, asserts and graph breaks, and all recompilations."""
        return explain(cast("Compiled", self))

    @public
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file that shows the function: its programs with guards and asserts beside
        the user's source, their graphs by module, breaks, and recompilations with what changed.
        """
        need_path("report", path)
        report(cast("Compiled", self), path)

    def __repr__(self) -> str:
        entries = cast("Compiled", self).entries
        return f"<compiled {name_of(self.fn)}: {counted(len(entries), 'entry', 'entries')}>"

    def _repr_html_(self) -> str:
        return text_html(self.explain())
