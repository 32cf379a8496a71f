"""`Held`: objects from outside among the arguments of the calls of a graph."""

from __future__ import annotations

import weakref
from typing import Any, Final

_LOOSE: Final[weakref.WeakValueDictionary[int, Any]] = weakref.WeakValueDictionary()


class Held:
    """An object from outside among the arguments of a call: passed as it is, and not copied.

    It is kept alive, unless programs live and die with it: `hold_loosely`.
    """

    __slots__ = ("_held", "is_loose")

    def __init__(self, x: Any) -> None:
        self.is_loose = _LOOSE.get(id(x)) is x and x is not None
        self._held = weakref.ref(x) if self.is_loose else x

    @property
    def object(self) -> Any:
        """The object."""
        return self._held() if self.is_loose else self._held

    def __repr__(self) -> str:
        return f"<{type(self.object).__name__}>"


def hold_loosely(x: Any) -> None:
    """Let no program keep an object alive: every call of one that changes it is given it."""
    _LOOSE[id(x)] = x


def owner_of(x: Any) -> Any:
    """The object that an effect is about: held from outside, or made by the program."""
    return x.object if type(x) is Held else x


def given(x: Any) -> Any:
    """An argument with the objects that are held; only tuples are taken apart."""
    kind = type(x)
    if kind is Held:
        return x.object
    return tuple([given(part) for part in x]) if kind is tuple else x
