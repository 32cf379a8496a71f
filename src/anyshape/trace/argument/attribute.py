"""Places outside the arguments that are inputs of a trace: numbers, tensors and containers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_MISSING: Final = object()


class Attribute(NamedTuple):
    """The entry `key` of `owner`, a dict of an object or module, known to users as `name`.

    `varies` if it was found to change from call to call; otherwise a mark or a list names it.
    """

    owner: Any
    key: Any
    name: str
    varies: bool = False

    @property
    def value(self) -> Any:
        """What is there now."""
        return entry(self.owner, self.key)


class Places(NamedTuple):
    """The places that are inputs of one program: those of numbers and tensors, and those whose
    objects are taken apart.
    """

    attributes: Sequence[Attribute]
    held: Sequence[Attribute] = ()


def values_of(places: Sequence[Attribute]) -> dict[str, Any]:
    """What is at some places now, by the names of the places."""
    return {a.name: a.value for a in places}


def has_own_items(owner: Any) -> bool:
    """Whether the class of a container may say what `owner[key]` is."""
    return isinstance(owner, dict | list) and type(owner) not in (dict, list)


def entry(owner: Any, key: Any) -> Any:
    """An item, without what a subclass of a container does about it, `__missing__` included."""
    if isinstance(owner, dict):
        found = dict.get(owner, key, _MISSING)
        if found is _MISSING:
            raise KeyError(key)
        return found
    return list.__getitem__(owner, key) if isinstance(owner, list) else owner[key]


class View:
    """The attributes of an object as the entries of a mapping: those of a cell, and slots."""

    __slots__ = ("object",)

    def __init__(self, x: Any) -> None:
        self.object = x

    def __getitem__(self, name: str) -> Any:
        return getattr(self.object, name)


class Length:
    """The length of a container as an entry of a mapping."""

    __slots__ = ("container",)

    def __init__(self, container: Any) -> None:
        self.container = container

    def __getitem__(self, _: None) -> int:
        return len(self.container)


class Elements:
    """The elements of a tuple that is an entry of a mapping, as long as it has so many of them."""

    __slots__ = ("count", "key", "owner")

    def __init__(self, owner: Any, key: Any, count: int) -> None:
        self.owner = owner
        self.key = key
        self.count = count

    def __getitem__(self, i: int) -> Any:
        found = entry(self.owner, self.key)
        if type(found) is not tuple or len(found) != self.count:
            raise KeyError(self.key)
        return found[i]

    def replaced(self, known: tuple[Any, ...] | None, i: int, x: Any) -> tuple[Any, ...]:
        """What is known of the tuple, or the tuple itself, with another element."""
        found = entry(self.owner, self.key) if known is None else known
        return (*found[:i], x, *found[i + 1 :])
