"""Loops over containers from outside.

A container that the trace changes gets a shadow, which a loop that has begun before must see. So a
loop asks for the container at every step. As in Python, a list may change meanwhile, and any other
container that does raises an error.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.effect.effect import native

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.trace.record.container.container import Containers

_VALUES: Final[Any] = type({}.values())
_ITEMS: Final[Any] = type({}.items())


def steps(shadows: dict[int, Any], c: Any, kind: type) -> Iterator[Any]:
    """The iterable of a loop over a container, or over a view of it if `kind` is one."""
    if isinstance(c, list | bytearray):
        return Places(shadows, c)
    return Unchanged(shadows, c, kind)


class Places:
    """A loop over a list, by place."""

    __slots__ = ("_base", "_shadows", "container", "place")

    def __init__(self, shadows: dict[int, Any], c: Any) -> None:
        self._shadows = shadows
        self._base: Any = list if isinstance(c, list) else bytearray
        self.container = c
        self.place = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        seen = self._shadows.get(id(self.container), self.container)
        if self.place >= self._base.__len__(seen):
            self._base, self.container = tuple, ()  # it has ended for good
            raise StopIteration
        self.place += 1
        return self._base.__getitem__(seen, self.place - 1)

    def state(self) -> Any:
        """All that it does next depends on."""
        return (self._base.__name__, self.container, self.place)


class Driven:
    """A loop over an iterator of the user's, which twins move on."""

    __slots__ = ("_step", "iterator")

    def __init__(self, iterator: Any, step: Callable[[], Any]) -> None:
        self.iterator = iterator
        self._step = step

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._step()

    def state(self) -> Any:
        """All that it does next depends on."""
        return ("driven", self.iterator)


class Unpacked:
    """An iterator of the user's that is unpacked: for the rest, which a target with a star takes,
    Python asks it for an iterator once more.
    """

    __slots__ = ("_containers", "_driven", "_is_asked")

    def __init__(self, driven: Driven, containers: Containers) -> None:
        self._driven = driven
        self._containers = containers
        self._is_asked = False

    def __iter__(self) -> Iterator[Any]:
        if self._is_asked:
            return iter(self._containers.gathered(self._driven.iterator))
        self._is_asked = True
        return self

    def __next__(self) -> Any:
        return next(self._driven)


def checked_iterator(found: Any) -> Any:
    """What an `__iter__` of the user's gave, checked as Python checks it."""
    if not hasattr(type(found), "__next__"):
        raise TypeError(f"iter() returned non-iterator of type {type(found).__name__!r}")
    return found


class Unchanged:
    """A loop over a container that may not change its size meanwhile, or over a view of it."""

    __slots__ = ("_kind", "_shadows", "_size", "container", "keys", "place")

    def __init__(self, shadows: dict[int, Any], c: Any, kind: type) -> None:
        self._shadows = shadows
        self._kind = kind
        self.container = c
        seen = shadows.get(id(c), c)
        self._size = native(seen, "__len__")()
        self.keys = tuple(native(seen, "__iter__")())
        self.place = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        seen = self._shadows.get(id(self.container), self.container)
        if self.place <= len(self.keys) and native(seen, "__len__")() != self._size:
            raise RuntimeError(_changed(self.container))
        if self.place >= len(self.keys):
            self.place = len(self.keys) + 1  # it has ended for good
            raise StopIteration
        self.place += 1
        key = self.keys[self.place - 1]
        if self._kind is _VALUES:
            return dict.__getitem__(seen, key)
        return (key, dict.__getitem__(seen, key)) if self._kind is _ITEMS else key

    def state(self) -> Any:
        """All that it does next depends on."""
        return (self._kind is _VALUES, self._kind is _ITEMS, self.container, self.place)


STEPS: Final = (Places, Unchanged, Driven)


def _changed(c: Any) -> str:
    if isinstance(c, deque):
        return "deque mutated during iteration"
    what = "dictionary" if isinstance(c, dict) else "Set"
    return f"{what} changed size during iteration"
