"""What happened to a compiled function: counts of calls, and why it was traced again."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from anyshape.compile.cache.guard_function import Condition

_log: Final = logging.getLogger("anyshape.recompiles")


class Reason:
    """Why an entry does not serve a call: the condition, and what the call had instead."""

    def __init__(self, condition: Condition, actual: str) -> None:
        self.condition = condition
        self.actual = actual

    @property
    def text(self) -> str:
        """One line: the input by the user's name, what it was and what it is."""
        c = self.condition
        if c.guard is not None:
            return f"{c.guard.text} does not hold ({self.actual})"
        if c.leaf is None:
            return c.about
        return f"{self.place}: {c.about}, and is {self.actual}"

    @property
    def place(self) -> str:
        """The input, or the size of it, that the condition is about."""
        c = self.condition
        if c.leaf is None:
            return ""
        return c.leaf.name if c.dim is None else f"{c.leaf.name}.size({c.dim})"

    @property
    def site(self) -> Any:
        """The user's line that the guard comes from."""
        return self.condition.guard.site if self.condition.guard is not None else None

    @property
    def fix(self) -> str:
        """What to mark so that one program serves both."""
        c = self.condition
        if c.guard is not None:
            return "mark the size unbacked, or write the branch without the size"
        if c.leaf is not None and c.dim is not None:
            return f"anyshape.mark_dynamic({c.leaf.name}, {c.dim}), or mark_unbacked"
        if c.leaf is not None and type(c.leaf.example) in (int, float):
            return f"anyshape.config.dynamic_sources = [\"L['{c.leaf.name}']\"], or dynamic=True"
        return ""

    def __str__(self) -> str:
        line = f"{self.text}" + (f", at {self.site}" if self.site else "")
        return line + (f"; to avoid it: {self.fix}" if self.fix else "")


class Stats:
    """Counts of calls: served by a program, traced, run eagerly."""

    def __init__(self) -> None:
        self.hits = 0
        self.traces = 0
        self.extensions = 0  # traces of a new branch of an entry
        self.eager = 0

    @property
    def calls(self) -> int:
        """All calls."""
        return self.hits + self.traces + self.eager

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={n}" for name, n in vars(self).items())
        return f"Stats(calls={self.calls}, {counts})"


class Recompilation(NamedTuple):
    """Why a function was traced again: the reasons of the entries there were, newest first."""

    function: str
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        return f"{self.function} is traced again: {self.reasons[0]}"

    def emit(self) -> None:
        """Log it, and write it to the terminal if `ANYSHAPE_LOGS` asks for recompiles."""
        _log.info("%s", self)
        if "recompiles" in os.environ.get("ANYSHAPE_LOGS", ""):
            sys.stderr.write(f"anyshape: {self}\n")
