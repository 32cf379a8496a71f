"""What a trace read outside its arguments, and the check that it is all still there.

A `Read` names its owner by identity: the read that gave the owner is guarded too, so no path has to
be walked. The check runs over flat lists in C; only where an identity differs are values compared.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from anyshape.trace.record.equality import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import torch

ITEM: Final = "item"  # owner[key]
ABSENT: Final = "absent"  # key not in owner
ATTRIBUTE: Final = "attribute"  # getattr(owner, key), or absent
CONTENT: Final = "content"  # all that a container holds
KIND: Final = "kind"  # type(owner)
CALL: Final = "call"  # owner(*key)
LENGTH: Final = "length"  # len(owner)
META: Final = "meta"  # dtype, device, shape and the like of a tensor

MISSING: Final = object()
_DEEP: Final = 8
Place: TypeAlias = tuple[str, int, Any]  # the kind, the id of the owner, the key
_FAILED: Final = (KeyError, IndexError, AttributeError, TypeError, ValueError, RuntimeError)


class Read(NamedTuple):
    """One read: the place, and what was there."""

    kind: str
    owner: Any
    key: Any
    value: Any

    def now(self) -> Any:
        """What is there at the moment; `MISSING` if there is nothing."""
        try:
            return _NOW[self.kind](self.owner, self.key)
        except _FAILED:
            return MISSING

    def holds(self) -> bool:
        """Whether it is still what was read."""
        now = self.now()
        if self.kind == CONTENT:
            return same_content(now, self.value)
        return same(now, self.value)


def is_array(x: Any) -> bool:
    """Whether an object is an array of NumPy, or one that shows its memory as such."""
    return hasattr(x, "tobytes") and hasattr(x, "strides")


def content_of(c: Any) -> Any:
    """What a container holds, as a tuple; a mapping with its keys."""
    if isinstance(c, OrderedDict):
        return (type(c), *c.keys(), *c.values())
    if isinstance(c, dict):
        return (type(c), *dict.keys(c), *dict.values(c))
    if is_array(c):
        return (type(c), str(c.dtype), tuple(c.shape), tuple(c.strides), c.tobytes())
    if isinstance(c, set | frozenset):
        return (type(c), *sorted(c, key=lambda x: (str(type(x)), repr(x))))
    return (type(c), *c)


def same_content(a: Any, b: Any) -> bool:
    """Whether two contents are the same."""
    if type(a) is not tuple or len(a) != len(b):
        return False
    return all(map(operator.is_, a, b)) or all(map(same, a, b))


def meta_of(t: torch.Tensor) -> tuple[Any, ...]:
    """What a program knows of a tensor from outside, besides its data."""
    return (t.dtype, t.device, tuple(t.shape), t.requires_grad, t.layout)


def _item(owner: Any, key: Any) -> Any:
    """An item, without what a subclass of a container does about it."""
    if isinstance(owner, dict):
        return dict.__getitem__(owner, key)
    return list.__getitem__(owner, key) if isinstance(owner, list) else owner[key]


_DICTS: Final = (dict, OrderedDict)
_PLAIN: Final = (dict, OrderedDict, list, tuple, MappingProxyType)
_NOW: Final[dict[str, Callable[[Any, Any], Any]]] = {
    ITEM: _item,
    ABSENT: lambda owner, key: _item(owner, key) if key in owner else MISSING,
    ATTRIBUTE: lambda owner, key: getattr(owner, key, MISSING),
    CONTENT: lambda owner, key: content_of(owner),
    KIND: lambda owner, key: type(owner),
    CALL: lambda owner, key: owner(*key),
    LENGTH: lambda owner, key: len(owner),
    META: lambda owner, key: meta_of(owner),
}


class Check:
    """Whether everything that was read is still there."""

    def __init__(self, reads: Iterable[Read]) -> None:
        self.reads = list(reads)
        by_kind: dict[str, list[Read]] = {}
        for read in self.reads:
            by_kind.setdefault(read.kind, []).append(read)
        items = by_kind.pop(ITEM, [])
        plain = [r for r in items if type(r.owner) in _PLAIN]
        self._items = _columns(plain)
        self._attributes = _columns(by_kind.pop(ATTRIBUTE, []))
        self._kinds = _columns(by_kind.pop(KIND, []))
        contents = by_kind.pop(CONTENT, [])
        self._metas = [(r.owner, *r.value) for r in by_kind.pop(META, [])]
        self._empty = [r.owner for r in contents if type(r.owner) in _DICTS and not r.owner]
        self._absent, self._lengths, self._hidden = self._without(plain, by_kind.pop(ABSENT, []))
        self._rest = [r for r in contents if type(r.owner) not in _DICTS or r.owner]
        self._rest += [r for r in items if type(r.owner) not in _PLAIN]
        self._rest += [r for group in by_kind.values() for r in group]

    def _without(self, items: list[Read], absent: list[Read]) -> Any:
        """The absent names: to be looked for, or told by the length of a dict.

        Where all keys of a dict are checked, its length tells that there is no other one. The dict
        of a class has other keys; if its length has changed, the names are looked for.
        """
        known: dict[int, set[Any]] = {}
        for read in items:
            known.setdefault(id(read.owner), set()).add(read.key)
        lengths: dict[int, tuple[Any, int]] = {}
        rest, hidden = [], []
        for read in absent:
            owner = read.owner
            if type(owner) in _DICTS and known.get(id(owner), set()) >= owner.keys():
                if owner:
                    lengths[id(owner)] = (owner, len(owner))
                else:
                    self._empty.append(owner)
            elif type(owner) is MappingProxyType:
                hidden.append(read)
                lengths[id(owner)] = (owner, len(owner))
            else:
                rest.append(read)
        owners = [owner for owner, _ in lengths.values()]
        counts = [count for _, count in lengths.values()]
        return _columns(rest), (owners, counts), _columns(hidden)

    def __call__(self) -> bool:
        """Whether all reads hold."""
        try:
            return self._holds()
        except _FAILED:
            return False

    def _holds(self) -> bool:
        owners, keys, values = self._items
        if not all(map(operator.is_, map(operator.getitem, owners, keys), values)) and not all(
            map(same, map(operator.getitem, owners, keys), values)
        ):
            return False
        owners, keys, values = self._attributes
        found = list(map(getattr, owners, keys, repeat(MISSING)))
        if not all(map(operator.is_, found, values)) and not all(map(same, found, values)):
            return False
        owners, _, values = self._kinds
        if not all(map(operator.is_, map(type, owners), values)) or any(self._empty):
            return False
        owners, keys, _ = self._absent
        if any(map(operator.contains, owners, keys)):
            return False
        owners, counts = self._lengths
        if list(map(len, owners)) != counts:
            grown = [o for o, n in zip(owners, counts, strict=True) if len(o) != n]
            if any(type(o) in _DICTS for o in grown):
                return False
            owners, keys, _ = self._hidden
            if any(map(operator.contains, owners, keys)):
                return False
        for t, dtype, device, shape, grad, layout in self._metas:
            if t.dtype is not dtype or t.shape != shape or t.requires_grad is not grad:
                return False
            if t.device != device or t.layout is not layout:
                return False
        return all(read.holds() for read in self._rest)

    def failing(self) -> Read | None:
        """The first read that does not hold."""
        return next((read for read in self.reads if not read.holds()), None)


class Watch:
    """The reads of a program; those of branches that are traced later are added."""

    def __init__(self, places: dict[Place, Read], origin: dict[int, Place]) -> None:
        self.places = places
        self._origin = origin
        self._check = Check(places.values())

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

    def failing(self) -> Read | None:
        """The first read that does not hold."""
        return self._check.failing()

    def label(self, read: Read, depth: int = 0) -> str:
        """The user's words for what was read."""
        place = self._origin.get(id(read.owner))
        owner = ""
        if place is not None and place in self.places and depth < _DEEP:
            owner = self.label(self.places[place], depth + 1)
        elif isinstance(read.owner, MappingProxyType):
            owner = str(read.owner.get("__qualname__", read.owner.get("__module__", "a class")))
        elif isinstance(read.owner, type):
            owner = read.owner.__qualname__
        name = owner or f"a {type(read.owner).__name__}"
        match read.kind:
            case "content" | "length":
                return f"the content of {name}"
            case "kind":
                return f"the class of {name}"
            case "meta":
                return f"the dtype, device or shape of {owner or 'a tensor'}"
        key = read.key
        if key in ("__code__", "__defaults__", "__kwdefaults__"):
            return f"{key} of {getattr(read.owner, '__qualname__', name)}"
        if key == "cell_contents":
            return "a variable of a closure"
        if type(key) is str and key.isidentifier():
            return f"{owner}.{key}" if owner else key
        return f"{owner}[{key!r}]"


def _columns(reads: list[Read]) -> tuple[list[Any], list[Any], list[Any]]:
    return [r.owner for r in reads], [r.key for r in reads], [r.value for r in reads]
