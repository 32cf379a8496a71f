"""Effects that wait: a call that may have to run again changes nothing outside before its end.

While a `Deferral` is open in a thread, the effects of the program wait there, in order, until
`commit`; `discard` forgets them. So nobody sees a state that a call takes back, and the next branch
of a call is traced from the state that the call began with.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class _Open(threading.local):
    deferral: Deferral | None = None


_open = _Open()


class Deferral:
    """The effects of one call. Open it with `with`, as often as needed."""

    def __init__(self) -> None:
        self._outer: list[Deferral | None] = []
        self._waiting: list[Callable[[], None]] = []
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Deferral:
        self._outer.append(_open.deferral)
        _open.deferral = self
        return self

    def __exit__(self, *_: object) -> None:
        _open.deferral = self._outer.pop()

    def commit(self) -> None:
        """Do what waits."""
        waiting, self._waiting, self._undo = self._waiting, [], []
        for act in waiting:
            act()

    def discard(self) -> None:
        """Forget what waits, and take back what did not."""
        undo, self._waiting, self._undo = self._undo, [], []
        for act in reversed(undo):
            act()


def waiting() -> list[Callable[[], None]]:
    """What waits in this thread for the end of the call."""
    return [] if _open.deferral is None else _open.deferral._waiting


def is_deferring() -> bool:
    """Whether effects wait in this thread for the end of a call."""
    return _open.deferral is not None


def defer(act: Callable[[], None]) -> None:
    """Do something outside: at once, or when the call has ended."""
    deferral = _open.deferral
    if deferral is None:
        act()
    else:
        deferral._waiting.append(act)


def undone_by(act: Callable[[], None]) -> None:
    """Note what takes back something that was done at once, should the call run again."""
    if _open.deferral is not None:
        _open.deferral._undo.append(act)
