"""Stand-ins for the container classes and enums that a loaded program cannot use.

Nothing is imported because a file names it. A class is identified by its qualified name.
"""

from __future__ import annotations

from collections import namedtuple
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from anyshape.errors import ArgumentError, UnsupportedError
from anyshape.torch_compat import pytree
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_REGISTERED: Final[Iterable[Any]] = pytree.SUPPORTED_NODES.keys()


def qualified(cls: type) -> str:
    """The name of a class in files."""
    return f"{cls.__module__}.{cls.__qualname__}"


class Foreign(NamedTuple):
    """A container class in a file: its name, the names of its parts if it has them, and its pytree
    context, the state of an instance besides its parts. A dataclass, or another class whose
    instances are their attributes, has no context.
    """

    name: str
    names: tuple[str, ...] | None
    context: Any
    is_dataclass: bool

    @property
    def short(self) -> str:
        """The name without the module and enclosing classes."""
        return self.name.rpartition(".")[2]

    def keys(self, count: int) -> list[Any]:
        """The names of the parts, or their numbers."""
        return list(range(count) if self.names is None else self.names)


@final
class StandIn:
    """The parts of an instance of a class that is not available.

    `x.name`, `x["name"]` and `x[0]` are its parts; iteration yields them in order. A program
    accepts it in place of the class.
    """

    __slots__ = ("_of", "_parts")

    def __init__(self, of: Foreign, parts: Iterable[Any]) -> None:
        self._of = of
        self._parts = tuple(parts)

    def __getitem__(self, key: str | int) -> Any:
        if isinstance(key, str):
            names = self._of.names or ()
            if key not in names:
                raise KeyError(key)
            return self._parts[names.index(key)]
        return self._parts[key]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in (self._of.names or ()):
            return self[name]
        raise AttributeError(f"the stand-in of a class has no {name!r}")

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __repr__(self) -> str:
        keys = self._of.keys(len(self))
        inside = ", ".join(f"{k}={part!r}" for k, part in zip(keys, self._parts, strict=True))
        return f"<stand-in of {self._of.name}: {inside}>"


def _with_keys(x: StandIn) -> tuple[list[tuple[Any, Any]], Foreign]:
    keys: list[Any] = [pytree.MappingKey(key) for key in x._of.keys(len(x))]
    return list(zip(keys, x._parts, strict=True)), x._of


pytree.register_pytree_node(
    StandIn,
    lambda x: (list(x._parts), x._of),
    lambda parts, of: StandIn(of, parts),
    flatten_with_keys_fn=_with_keys,
)


@final
class Member:
    """A member of an enum: the name of the class and its own name; it is compared by both."""

    __slots__ = ("name", "of")

    def __init__(self, of: str, name: str) -> None:
        self.of = of
        self.name = name

    def __eq__(self, other: object) -> bool:
        return type(other) is Member and (self.of, self.name) == (other.of, other.name)

    def __hash__(self) -> int:
        return hash((self.of, self.name))

    def __repr__(self) -> str:
        return f"{self.of.rpartition('.')[2]}.{self.name}"


def member_of(x: Enum) -> Member:
    """A member of an enum by its names."""
    if not isinstance(x.name, str):
        raise UnsupportedError(f"{x!r}, a member of an enum without a name", code="AS511")
    return Member(qualified(type(x)), x.name)


@final
class Classes:
    """The classes that a loaded program may use: those given, or all that pytree knows.

    If two classes have the same name, neither is used.
    """

    def __init__(self, given: Iterable[Any] | None) -> None:
        self._by_name: dict[str, type | None] = {}
        for cls in _REGISTERED if given is None else given:
            if cls is namedtuple:  # the entry of pytree for all named tuples
                continue
            if not isinstance(cls, type):
                raise ArgumentError(f"classes has {cls!r}, which is not a class")
            name = qualified(cls)
            same = self._by_name.get(name, cls) is cls
            self._by_name[name] = cls if same else None

    def container(self, of: Foreign) -> type | None:
        """The class of a container that a file names."""
        cls = self._by_name.get(of.name)
        if cls is None or of.is_dataclass is (cls in pytree.SUPPORTED_NODES):
            return None
        if of.is_dataclass and not tree.has_fields(cls, of.names or ()):
            return cls if tree.has_members(cls) else None
        return cls

    def named(self, record: Any) -> Any:
        """The class of named tuples with the name and fields of `record`, else `record` itself."""
        known = [c for c in self._by_name.values() if issubclass(c or object, tuple)]
        found = [c for c in known if record == c]
        return found[0] if len(found) == 1 else record

    def member(self, member: Member) -> Any:
        """The member of an enum that a file names, or its stand-in."""
        cls = self._by_name.get(member.of)
        if cls is None or not issubclass(cls, Enum):
            return member
        return cls.__members__.get(member.name, member)
