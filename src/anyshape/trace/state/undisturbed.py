"""Calls of functions in C that no garbage collection interrupts, so that no code of the user's runs
in the middle of them.

Two functions in C must not be interrupted. CPython has one counter of depth for all conversions
between syntax trees and objects: where threads switch within one, it raises `SystemError`. torch
takes the lock of a random generator, and waits for it, without releasing Python's: where threads
switch while it is held, they may wait forever. Both run no Python code by themselves. Up to Python
3.11 any allocation may collect garbage, which runs finalizers. A collection never begins within
another one, so the function is called by the callback at the start of one. No lock is held, and
nothing of the process is switched off. Later versions collect between instructions alone.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
COLLECTS_ANYWHERE: Final = sys.version_info < (3, 12)
_TRIES: Final = 20  # of waiting for a collection of another thread, which may wait for this one
_PAUSE: Final = 1e-4  # seconds


class _Thread(threading.local):
    """The function that a thread is about to call, and whether it runs the garbage collector."""

    call: Callable[[], None] | None = None
    collects = False


_thread = _Thread()


def undisturbed(function: Callable[..., T], *args: Any, **named: Any) -> T:
    """`function(*args, **named)`."""
    if not COLLECTS_ANYWHERE or _thread.collects:
        return function(*args, **named)
    done: list[T] = []
    failed: list[BaseException] = []

    def call() -> None:
        try:
            done.append(function(*args, **named))
        except BaseException as e:  # raised below, out of the callback
            failed.append(e)

    for _ in range(_TRIES):
        _thread.call = call
        gc.collect(0)  # does nothing while another thread collects
        _thread.call = None
        if failed:
            raise failed[0].with_traceback(None)
        if done:
            return done[0]
        time.sleep(_PAUSE)
    return function(*args, **named)


def _at_collection(phase: str, _: Any) -> None:
    _thread.collects = phase == "start"
    call = _thread.call
    if call is not None:
        _thread.call = None
        call()


if COLLECTS_ANYWHERE:
    gc.callbacks.append(_at_collection)  # for good, so that it does not tell whether a trace runs
