"""Refusals: errors of the system's own, which eager execution would not raise.

They are raised by `raise refused(UnsupportedError, "...")`. A trace that runs in this thread
records them, so that it can fail if user code swallowed one: the rest of such a trace does not show
what eager execution would do.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from anyshape.errors import AnyshapeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_E = TypeVar("_E", bound=AnyshapeError)


class _Recording(threading.local):
    refusals: list[AnyshapeError] | None = None  # None where no trace runs


_recording = _Recording()


def refused(kind: type[_E], what: str, *, why: str = "", fix: str = "") -> _E:
    """The error to raise, remembered by the trace that runs in this thread."""
    error = kind(what, why=why, fix=fix)
    error.is_refusal = True
    if _recording.refusals is not None:
        _recording.refusals.append(error)
    return error


def forgive(error: AnyshapeError) -> None:
    """Forget an error that was caught by the system itself."""
    if _recording.refusals is not None:
        _recording.refusals = [e for e in _recording.refusals if e is not error]


@contextmanager
def remembered() -> Iterator[None]:
    """Remember the refusals of the body of a `with` block; raise the last one that was swallowed.

    Errors that leave the body pass unchanged.
    """
    before, _recording.refusals = _recording.refusals, []
    try:
        yield
        if _recording.refusals:
            raise _recording.refusals[-1]
    finally:
        _recording.refusals = before
