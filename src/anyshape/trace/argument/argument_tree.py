"""The arguments of a call as a tree in which every container and object has its identity.

`tree.py` takes containers apart by what they hold. Here the containers themselves count too: a
program may change them, return them or compare them. They are numbered in the order in which they
are met, and a container that is met again is `Again`, so a container may contain itself. Plain
objects are containers of their attributes; sets and random generators are containers without
parts.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import is_framework
from anyshape.tensor.sym_tensor import size_of
from anyshape.torch_compat import pytree
from anyshape.trace import tree
from anyshape.trace.record.read.exact_equality import same
from anyshape.trace.state.generator_state import another, is_generator
from anyshape.trace.tree import Level, Members

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.trace.tree import Path

_MOST_PARTS: Final = 1024  # of an object
_LEAF: Final = pytree.tree_structure(0)
_ATOMS: Final = frozenset({int, float, bool, str, bytes, complex, type(None)})
_PLAIN: Final = (list, dict, tuple, OrderedDict)


class Again:
    """The kind of a container that was met before; its context is the number of that container."""


class Elements:
    """The kind of a set, or of bytes that can change; its context is what it holds."""


class Source:
    """The kind of a random generator; its context is its class. Only the run knows its state."""


class ArgumentTree(NamedTuple):
    """A tree taken apart: leaves with their paths, the structure, the containers by number.

    `calm` are the places of the leaves that are attributes of plain objects.
    """

    pairs: list[tuple[Path, Any]]
    spec: Any
    containers: list[Any]
    calm: set[int]


def level(x: Any) -> Level | None:
    """The outermost level of a container or a plain object; None for a leaf."""
    kind: Any = type(x)
    if kind is set or kind is bytearray:
        return _elements(x, kind)
    if kind in _PLAIN:
        return tree.level(x)
    if is_generator(x):
        return Level(Source, kind, [], [])
    if is_plain_class(kind):
        return tree.members(x)
    found = tree.level(x)
    return tree.derived(x) if found is None and is_derived(kind) else found


def _elements(x: Any, kind: type) -> Level | None:
    if kind is bytearray:
        return Level(Elements, (kind, bytes(x)), [], [])
    if not all(type(part) in _ATOMS for part in x):
        return None
    return Level(Elements, (kind, frozenset([(type(part), part) for part in x])), [], [])


@functools.lru_cache(maxsize=4096)
def is_plain_class(cls: type) -> bool:
    """Whether objects of a class of the user's are their attributes, and nothing else."""
    if cls is types.SimpleNamespace:
        return True
    new: Any = cls.__new__
    if new is not object.__new__ or not cls.__flags__ & _HEAP or hasattr(cls, "__del__"):
        return False
    if issubclass(cls, torch.nn.Module):
        return False
    return _is_users(cls)


def _is_users(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    if cls.__module__ == "__main__":
        return True
    return not is_framework(getattr(module, "__file__", None) or "<frozen")


@functools.lru_cache(maxsize=4096)
def is_derived(cls: type) -> bool:
    """Whether a class of the user's, or `Counter`, derives from a container."""
    return issubclass(cls, dict | list) and (cls is Counter or _is_users(cls))


def is_mutable(kind: Any) -> bool:
    """Whether containers of a kind can change."""
    return kind not in (tuple, torch.Size, tree.NAMED, Again)


class _Flattening:
    def __init__(self) -> None:
        self.pairs: list[tuple[Path, Any]] = []
        self.containers: list[Any] = []
        self.calm: set[int] = set()
        self._numbers: dict[int, int] = {}

    def spec(self, x: Any, path: Path, calm: bool = False) -> Any:
        number = self._numbers.get(id(x))
        if number is not None:
            return pytree.TreeSpec(Again, number, [])
        found = level(x)
        if found is not None and found.kind is Members and not calm and is_large(x):
            found = None
        if found is None:
            if calm:
                self.calm.add(len(self.pairs))
            self.pairs.append((path, x))
            return _LEAF
        self.add(x, found.kind)
        calm = calm or (found.kind is Members and not dataclasses.is_dataclass(x))
        inner = [
            self.spec(part, (*path, key), calm)
            for key, part in zip(found.keys, found.parts, strict=True)
        ]
        return pytree.TreeSpec(found.kind, found.context, inner)

    def add(self, x: Any, kind: Any) -> None:
        if is_mutable(kind):
            self._numbers[id(x)] = len(self.containers)
        self.containers.append(x)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentTree:
    """Take the arguments of a call apart. The tuple and the dict of the call are not numbered."""
    walk = _Flattening()
    try:
        given = [
            walk.spec(x, (pytree.SequenceKey(0), pytree.SequenceKey(i))) for i, x in enumerate(args)
        ]
        named = [
            walk.spec(x, (pytree.SequenceKey(1), pytree.MappingKey(k))) for k, x in kwargs.items()
        ]
    except RecursionError:
        raise tree.endless() from None
    spec = pytree.TreeSpec(
        tuple,
        None,
        [pytree.TreeSpec(tuple, None, given), pytree.TreeSpec(dict, list(kwargs), named)],
    )
    return ArgumentTree(walk.pairs, spec, walk.containers, walk.calm)


def is_large(x: Any) -> bool:
    """Whether an object has more parts than a call should look at."""
    seen: set[int] = set()
    todo = [x]
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if len(seen) > _MOST_PARTS:
            return True
        found = level(part)
        if found is not None:
            todo += found.parts
    return False


class _Building:
    def __init__(self, leaves: Iterator[Any]) -> None:
        self.leaves = leaves
        self.containers: list[Any] = []

    def make(self, spec: Any) -> Any:
        kind = spec.type
        if spec.is_leaf():
            return next(self.leaves)
        if kind is Again:
            return self.containers[spec.context]
        if kind is Elements:
            cls, content = spec.context
            made = cls(content) if cls is bytearray else cls([part for _, part in content])
            self.containers.append(made)
            return made
        if kind is Source:
            self.containers.append(another(spec.context))
            return self.containers[-1]
        number = len(self.containers)
        if kind is list or kind is dict or kind is Members:
            return self._fill(spec, tree.empty(kind, spec.context))
        self.containers.append(None)
        parts = [self.make(child) for child in spec.children()]
        if kind is torch.Size:  # pytree would make a tuple of it
            made = size_of(tuple(parts))
        else:
            made = pytree.SUPPORTED_NODES[kind].unflatten_fn(parts, spec.context)
        self.containers[number] = made
        return made

    def _fill(self, spec: Any, made: Any) -> Any:
        """Make the parts of a container that is there already, so that it may contain itself."""
        self.containers.append(made)
        parts = [self.make(child) for child in spec.children()]
        if spec.type is list:
            made.extend(parts)
        elif spec.type is dict:
            made.update(zip(spec.context, parts, strict=True))
        else:
            tree.fill(made, spec.context[1], parts)
        return made


def build_call(leaves: list[Any], spec: Any) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """New arguments of a structure with these leaves, and their containers by number."""
    building = _Building(iter(leaves))
    positional, named = spec.children()
    args = tuple([building.make(child) for child in positional.children()])
    made = [building.make(child) for child in named.children()]
    return args, dict(zip(named.context, made, strict=True)), building.containers


def is_level(found: Level, spec: Any) -> bool:
    """Whether a level is one of this structure. Keys of dicts are the same, not only equal."""
    if found.kind is not spec.type or found.context != spec.context:
        return False
    return _are_same_keys(spec.type, found.context, spec.context)


def has_same_keys(a: Any, b: Any) -> bool:
    """Whether two equal structures have the same keys."""
    if not _are_same_keys(a.type, a.context, b.context):
        return False
    return not a.num_children or all(map(has_same_keys, a.children(), b.children()))


def _are_same_keys(kind: Any, a: Any, b: Any) -> bool:
    keys = _KEYS.get(kind)
    return keys is None or all(map(same, keys(a), keys(b)))


_KEYS: Final[dict[Any, Callable[[Any], Any]]] = {  # by what a level has besides its parts
    dict: list,
    OrderedDict: list,
    defaultdict: lambda context: context[1],
    tree.Derived: lambda context: [key for _, key in context[1] or ()],
}


def parts_of(x: Any, spec: Any) -> list[Any]:
    """The parts of a container of this structure; raises `LookupError` for another one."""
    found = level(x)
    if found is None or not is_level(found, spec):
        raise LookupError("another container")
    if len(found.parts) != spec.num_children:
        raise LookupError("another number of parts")
    return found.parts


def content_of(x: Any) -> list[Any]:
    """What a container or an object holds at the moment, in order, without what that holds."""
    if isinstance(x, dict):
        return [*dict.keys(x), *dict.values(x)]
    if isinstance(x, list | tuple | deque | bytearray):
        return list(x)
    if isinstance(x, set | frozenset):
        return sorted(x, key=id)
    found = tree.members(x)
    return [*found.context[1], *found.parts]


_HEAP: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
