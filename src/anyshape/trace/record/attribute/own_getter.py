"""Classes whose objects look their attributes up by a `__getattribute__` of the user's."""

from __future__ import annotations

from typing import Any

from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import Function


class OwnGetters:
    """Which classes have one, for one trace.

    What a trace knows of an object of such a class is what lies beyond its `__getattribute__`, as
    `object.__getattribute__` finds it: a read of an attribute must ask that first, also where
    another trace, or code that goes around it, has found the attribute before.
    """

    __slots__ = ("_found", "lacking")

    def __init__(self) -> None:
        self.lacking: set[type] = set()
        self._found: set[type] = set()

    def __contains__(self, kind: type) -> bool:
        if kind in self.lacking:
            return False
        if kind in self._found:
            return True
        look: Any = kind.__getattribute__
        has_own = type(look) is Function and is_twinned(look.__code__)
        (self._found if has_own else self.lacking).add(kind)
        return has_own

    def clear(self) -> None:
        """Look again: a class has changed."""
        self.lacking.clear()
        self._found.clear()
