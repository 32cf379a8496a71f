"""The trace that runs in this thread, for rules that need more than their operands."""

from __future__ import annotations

from typing import Any

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused, running


def current() -> Any:
    """The tracer of this thread."""
    tracer = running.trace
    if tracer is None:
        raise outside()
    return tracer


def outside() -> UnsupportedError:
    """The error for a traced tensor that outlived its trace."""
    return refused(
        UnsupportedError,
        "a traced tensor was used outside the trace that made it",
        fix="return it from the traced function, or keep what it is for inside",
        code="AS114",
    )


def is_tracing() -> bool:
    """Whether a trace runs in this thread."""
    return running.trace is not None


def enter(tracer: Any) -> Any:
    """Make `tracer` the current one; return the previous one, for `leave`."""
    before = running.trace
    running.trace = tracer
    return before


def leave(before: Any) -> None:
    """Undo `enter`."""
    running.trace = before
