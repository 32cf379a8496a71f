"""Substitutes, found by the identity of what they stand for, and made when they are needed.

Which functions have substitutes is found once per process, and again after imports: to import
`torch._dynamo` replaces functions of torch. What to call in their place belongs to one trace: a
method of one of its parts, or a function that is given one.
"""

from __future__ import annotations

import functools
import sys
from types import MethodType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Maker: TypeAlias = "Callable[[Sequence[Any]], Any]"
_makers: dict[int, tuple[Any, Maker]] = {}  # with the function, which keeps its id taken
_seen: list[int] = [0]  # how many modules there were when they were made


class Substitutes:
    """The substitutes of one trace.

    `pairs` gives functions and their substitutes in terms of `parts`; few traces call it.
    """

    __slots__ = ("_made", "_parts")

    def __init__(
        self, parts: Sequence[Any], pairs: Callable[[], Iterable[tuple[Any, Any]]]
    ) -> None:
        self._parts = parts
        self._made: dict[int, Any] = {}
        if _seen[0] != len(sys.modules):
            _seen[0] = len(sys.modules)
            places = {id(part): i for i, part in enumerate(parts)}
            _makers.update({id(f): (f, _maker(s, places)) for f, s in pairs()})

    def get(self, key: int) -> Any:
        """The substitute of the function with this id; None if it has none."""
        if key not in _makers:
            return None
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = _makers[key][1](self._parts)
        return found

    def __contains__(self, key: int) -> bool:
        return key in _makers


def _maker(substitute: Any, places: dict[int, int]) -> Maker:
    """A function from the parts of a trace to its substitute."""
    if type(substitute) is MethodType and id(substitute.__self__) in places:
        place, name = places[id(substitute.__self__)], substitute.__func__.__name__
        return lambda parts: getattr(parts[place], name)
    if type(substitute) is functools.partial:
        call = _maker(substitute.func, places)
        named = substitute.keywords
        args = [_argument(a, places) for a in substitute.args]
        return lambda parts: functools.partial(call(parts), *[a(parts) for a in args], **named)
    return lambda _: substitute


def _argument(x: Any, places: dict[int, int]) -> Maker:
    place = places.get(id(x))
    return (lambda _: x) if place is None else lambda parts: parts[place]
