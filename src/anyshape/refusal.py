"""Refusals: errors of the system's own, which eager execution would not raise.

They are raised by `raise refused(UnsupportedError, "...")`. The trace that runs in this thread
keeps them, so that it fails if user code swallowed one: the rest of such a trace does not show what
eager execution would do. An error without a traceback was made and not raised; it is ignored.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from anyshape.errors import AnyshapeError

    _E = TypeVar("_E", bound=AnyshapeError)


class Trace(Protocol):
    """A trace, as far as this module knows it."""

    refusals: list[AnyshapeError]


class _Running(threading.local):
    trace: Any = None  # a Trace; None where no trace runs


running = _Running()
"""The trace that runs in this thread; `tensor.current` enters and leaves it."""


def refused(kind: type[_E], what: str, *, why: str = "", fix: str = "", code: str = "") -> _E:
    """The error to raise. The trace that runs in this thread keeps it."""
    error = kind(what, why=why, fix=fix, code=code)
    error.is_refusal = True
    if running.trace is not None:
        running.trace.refusals.append(error)
    return error


def forgive(error: AnyshapeError) -> None:
    """Forget an error that was caught by the system itself."""
    trace = running.trace
    if trace is not None:
        trace.refusals = [e for e in trace.refusals if e is not error]


def need_none_swallowed(trace: Trace) -> None:
    """Raise the last refusal of a trace whose program returned, and so swallowed it."""
    for error in reversed(trace.refusals):
        if error.__traceback__ is not None:
            raise error
