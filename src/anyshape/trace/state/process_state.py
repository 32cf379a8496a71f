"""The state of the process while a trace runs, and as it was afterwards.

Grad mode and autocast are restored. The garbage collector works as always; what it calls, such as a
finalizer of the user's, is no part of the program: a trace is suspended while its thread collects.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anyshape.tensor import current
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.mode.execution_modes import keep_casts, keep_modes

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Suspended(threading.local):
    """The trace that a collection in this thread has suspended."""

    trace: tuple[Any, Any] | None = None


_suspended = _Suspended()


def _at_collection(phase: str, _: Any) -> None:
    if phase == "start":
        if current.is_tracing():
            untraced = DisableTorchFunction()
            untraced.__enter__()
            _suspended.trace = (untraced, current.enter(None))
    elif _suspended.trace is not None:
        untraced, tracer = _suspended.trace
        _suspended.trace = None
        current.leave(tracer)
        untraced.__exit__(None, None, None)


gc.callbacks.append(_at_collection)  # for good, so that it does not tell whether a trace runs


@contextmanager
def quietly() -> Iterator[None]:
    """Run a trace inside."""
    with keep_modes(), keep_casts():
        yield
