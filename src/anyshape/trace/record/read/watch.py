"""`Watch`: the reads of a program, whether they all hold, and the user's words for them."""

from __future__ import annotations

from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.read.read import ATTRIBUTE, CONTENT, ITEM, LENGTH, MISSING
from anyshape.trace.record.read.read_check import Check

if TYPE_CHECKING:
    from anyshape.trace.record.read.read import Place, Read

_DEEP: Final = 8
_VALUES: Final = (ITEM, LENGTH, CONTENT)


class Watch:
    """The reads of a program; those of branches that are traced later are added."""

    def __init__(self, places: dict[Place, Read], origin: dict[int, Place]) -> None:
        self.places = places
        self._origin = origin
        self._check = Check(places.values())
        self.tests = self._check.tests
        self.owners = frozenset([id(read.owner) for read in places.values()])

    def __call__(self) -> bool:
        """Whether all reads hold."""
        return self._check()

    def add(self, other: Watch) -> None:
        """Watch what another trace of the same program has read, too."""
        new = other.places.keys() - self.places.keys()
        if new:
            self._origin = {**other._origin, **self._origin}
            self.places = {**self.places, **{place: other.places[place] for place in new}}
            self._check = Check(self.places.values())
            self.tests = self._check.tests
            self.owners |= other.owners

    def failing(self) -> Read | None:
        """The first read that does not hold."""
        return self._check.failing()

    def changed(self) -> list[Read]:
        """The reads of values, and of whole containers, that find another one now."""
        return [r for r in self._check.reads if _is_quiet(r) and not r.holds()]

    def label(self, read: Read, depth: int = 0) -> str:
        """The user's words for what was read."""
        owner = self._owner(read, depth)
        name = owner or _kind_of(read.owner)
        match read.kind:
            case "content" | "keys":
                return f"the content of {name}"
            case "length":
                return f"len({name})"
            case "empty":
                return f"the content of {name}.{read.key}"
            case "kind":
                return f"the class of {name}"
            case "call":
                function = getattr(read.owner, "func", read.owner)  # of a partial
                args = (*getattr(read.owner, "args", ()), *read.key)
                shown = getattr(function, "__qualname__", type(function).__name__)
                return f"{shown}({', '.join([_argument(a) for a in args])})"
            case "meta":
                return f"the dtype, device or shape of {owner or 'a tensor'}"
        key = read.key
        if type(key) is not str:  # whose `==` may be the user's
            return f"{owner}[{key!r}]"
        if key in ("__code__", "__defaults__", "__kwdefaults__"):
            return f"{key} of {getattr(read.owner, '__qualname__', name)}"
        if key == "cell_contents":
            return "a variable of a closure"
        if key.isidentifier():
            return f"{owner}.{key}" if owner else key
        return f"{owner}[{key!r}]"

    def _owner(self, read: Read, depth: int) -> str:
        """The user's words for the owner of what was read."""
        place = self._origin.get(id(read.owner))
        if place is not None and place in self.places and depth < _DEEP:
            origin = self.places[place]
            owner = self.label(origin, depth + 1)
            if origin.kind == CONTENT:
                owner = owner.removeprefix("the content of ") + _place_in(origin.owner, read.owner)
            return owner
        if isinstance(read.owner, MappingProxyType):
            return str(read.owner.get("__qualname__", read.owner.get("__module__", "a class")))
        return read.owner.__qualname__ if isinstance(read.owner, type) else ""


def _kind_of(owner: Any) -> str:
    """What an object is that nothing of the user's leads to; of a dict, some keys."""
    name = f"a {type(owner).__name__}"
    keys = [key for key in dict.keys(owner) if type(key) is str][:3] if type(owner) is dict else ()
    return f"{name} with the keys {', '.join(map(repr, keys))}" if keys else name


def _is_quiet(read: Read) -> bool:
    """Whether a value is read by no code of the user's."""
    if read.kind == ATTRIBUTE:
        return type(type(read.owner).__getattribute__) is not FunctionType
    return read.kind in _VALUES


def _place_in(container: Any, x: Any) -> str:
    """The key or index of an object in a container; `x` may be its dict."""
    is_dict = isinstance(container, dict)
    for key, value in dict.items(container) if is_dict else enumerate(container):
        if value is x or getattr(value, "__dict__", MISSING) is x:
            return f"[{key!r}]"
    return ""


def _argument(x: Any) -> str:
    return repr(x) if type(x) in (int, float, bool, str, bytes) else f"a {type(x).__name__}"
