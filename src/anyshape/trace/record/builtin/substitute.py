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

from anyshape.env.site import in_package

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


def _maker(x: Any, places: dict[int, int]) -> Maker:
    """A function from the parts of a trace to a substitute, or to an argument of a partial."""
    place = places.get(id(x))
    if place is not None:
        return lambda parts: parts[place]
    if type(x) is MethodType and id(x.__self__) in places:
        owner, name = places[id(x.__self__)], x.__func__.__name__
        return lambda parts: getattr(parts[owner], name)
    if type(x) is functools.partial:
        call = _maker(x.func, places)
        args = [_maker(a, places) for a in x.args]
        named = {k: _maker(a, places) for k, a in x.keywords.items()}
        return lambda parts: functools.partial(
            call(parts), *[a(parts) for a in args], **{k: a(parts) for k, a in named.items()}
        )
    held = type(x.__self__ if type(x) is MethodType else x)
    if in_package(held.__module__, "anyshape"):
        raise TypeError(f"a {held.__name__} belongs to one trace, and is no part of it")
    return lambda _: x
