"""The trace that runs in this thread, for rules that need more than their operands."""

from __future__ import annotations

import threading
from typing import Any

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused


class _Running(threading.local):
    tracer: Any = None


_running = _Running()


def current() -> Any:
    """The tracer of this thread."""
    tracer = _running.tracer
    if tracer is None:
        raise outside()
    return tracer


def outside() -> UnsupportedError:
    """The error for a traced tensor that outlived its trace."""
    return refused(
        UnsupportedError,
        "a traced tensor was used outside the trace that made it",
        fix="return it from the traced function, or keep what it is for inside",
    )


def is_tracing() -> bool:
    """Whether a trace runs in this thread."""
    return _running.tracer is not None


def enter(tracer: Any) -> Any:
    """Make `tracer` the current one; return the previous one, for `leave`."""
    before = _running.tracer
    _running.tracer = tracer
    return before


def leave(before: Any) -> None:
    """Undo `enter`."""
    _running.tracer = before
