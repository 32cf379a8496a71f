"""The state of the process while a trace runs, and as it was afterwards.

Grad mode and autocast are restored, and the garbage collector rests: a trace makes many objects
that live on.
"""

from __future__ import annotations

import gc
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyshape.trace.birth import grow_old, is_frozen
from anyshape.trace.execution_modes import keep_modes

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Shared:
    """What all threads share: set by the first trace that starts, restored by the last to end."""

    lock = threading.Lock()
    running = 0
    resting = 0
    collects = False
    made = 0  # objects since the last full collection
    allowed = 200_000
    collections = 0  # full ones, when `made` was 0


@contextmanager
def rested() -> Iterator[None]:
    """Let the garbage collector rest while many objects are made that live on."""
    with _Shared.lock:
        if _Shared.resting == 0:
            _Shared.collects = gc.isenabled()
            gc.disable()
        _Shared.resting += 1
    try:
        yield
    finally:
        with _Shared.lock:
            _Shared.resting -= 1
            if _Shared.resting == 0 and _Shared.collects:
                _Shared.made += gc.get_count()[0]
                grow_old()  # at once: the collector does not see what was made grow then
                gc.enable()


def _collect() -> None:
    """Collect in the collector's place, when old objects have become a quarter more. That is before
    a trace rather than after one, when all that it made is still in use.
    """
    collected = gc.get_stats()[2]["collections"] != _Shared.collections
    if not collected and not is_frozen():
        gc.collect()
        _Shared.allowed = max(200_000, len(gc.get_objects()) // 4)
    _Shared.made = 0
    _Shared.collections = gc.get_stats()[2]["collections"]


@contextmanager
def quietly() -> Iterator[None]:
    """Run a trace inside."""
    if _Shared.made > _Shared.allowed and _Shared.running == 0 and gc.isenabled():
        _collect()
    with _Shared.lock:
        _Shared.running += 1
    try:
        with rested(), keep_modes():
            yield
    finally:
        with _Shared.lock:
            _Shared.running -= 1
