"""Why an entry rejects a call; counts of the calls of a compiled function."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import shortened
from anyshape.expr.traverse import names_of
from anyshape.trace.argument.condition import Holds, SameValue, StaticSize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.events import Recompilation
    from anyshape.trace.argument.condition import Condition, Violation


_SIZE: Final = re.compile(r"(.+)\.size\((\d+)\)")
_MARK: Final = r"anyshape.mark_unbacked(\1, \2)"


class Reason(NamedTuple):
    """Why an entry rejects a call: the condition that failed, and how the call violates it."""

    violation: Violation
    condition: Condition | None = None  # None for a condition of the backend

    @property
    def text(self) -> str:
        """One line: the input by the user's name, what it was and what it is."""
        return self.violation.change

    @property
    def place(self) -> str:
        """The input, size or guard that the condition is about."""
        return self.violation.place

    @property
    def exact(self) -> bool:
        """Whether only a trace at exactly these sizes tells what is right."""
        return type(self.condition) is Holds and self.condition.exact

    @property
    def is_object(self) -> bool:
        """Whether an object, which is no number and no text, is another one."""
        if type(self.condition) is not SameValue:
            return False
        return type(self.condition.leaf.example) not in (int, float, bool, str, type(None))

    @property
    def site(self) -> Any:
        """The user's line that the guard comes from."""
        return self.condition.guard.site if type(self.condition) is Holds else None

    @property
    def fix(self) -> str:
        """What to mark so that one program serves both."""
        match self.condition:
            case Holds(guard=guard):
                sources = guard.knowledge.sources
                labels = [sources.get(name, "") for name in sorted(names_of(guard.condition))]
                marks = [_SIZE.sub(_MARK, text) for text in labels if _SIZE.fullmatch(text)]
                wanted = " and ".join(marks) or "mark the size unbacked"
                return f"{wanted}, or write the branch without the size"
            case StaticSize(leaf=leaf, dim=dim):
                return f"anyshape.mark_dynamic({leaf.name}, {dim}), or mark_unbacked"
            case SameValue(leaf=leaf) if type(leaf.example) in (int, float):
                return f"anyshape.config.dynamic_sources = [\"L['{leaf.name}']\"], or dynamic=True"
        return ""

    def __repr__(self) -> str:
        return shortened(f"<Reason: {self}>")

    def __str__(self) -> str:
        line = f"{self.text}" + (f", at {self.site}" if self.site else "")
        return line + (f"; to avoid it: {self.fix}" if self.fix else "")


def most_frequent(events: Sequence[Recompilation]) -> Reason:
    """The latest reason about the place that most recompilations were about."""
    counts = Counter(event.reasons[0].place for event in events)
    worst = counts.most_common(1)[0][0]
    reasons: list[Reason] = [event.reasons[0] for event in reversed(events)]
    return next(reason for reason in reasons if reason.place == worst)


class Stats:
    """Counts of calls: served by a program, traced, run eagerly.

    They are state, not a second stream of events: a call that a program serves emits no event, and
    counts must be there although nobody listened. `traces + extensions` is the number of `TraceEnd`
    events without an error, `breaks` that of the `GraphBreak` events.
    """

    def __init__(self) -> None:
        self.hits = 0
        self.traces = 0
        self.extensions = 0  # traces of a new branch of an entry
        self.eager = 0
        self.in_pieces = 0  # run in parts, with Python between them
        self.breaks = 0

    @property
    def calls(self) -> int:
        """All calls."""
        return self.hits + self.traces + self.eager + self.in_pieces

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={n}" for name, n in vars(self).items())
        return f"Stats(calls={self.calls}, {counts})"
