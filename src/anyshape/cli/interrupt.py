"""Ctrl-C: an interrupt that arrives in a callback of the garbage collector is raised after it.

Python drops what such a callback raises, with a traceback, and the work would go on.
"""

from __future__ import annotations

import gc
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_LATER: Final = 0.01  # seconds; a callback takes less


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Run a command inside, unless another handler of interrupts is installed."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    callbacks = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    inside = frame
    while inside is not None:
        if inside.f_code in callbacks:
            again = threading.Timer(_LATER, signal.raise_signal, (number,))
            again.daemon = True
            again.start()
            return
        inside = inside.f_back
    signal.default_int_handler(number, frame)
