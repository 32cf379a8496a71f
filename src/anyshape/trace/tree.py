"""Nested inputs and outputs as flat leaves and a structure: pytrees, and dataclasses.

Where a caller asks for it, plain objects and subclasses of list and dict are containers, too.

A class that is registered with `torch.utils._pytree` is flattened as registered. An instance of any
other dataclass is a container of its fields; nothing is registered for its class, so that the rest
of the process is not affected. It is rebuilt field by field without calling `__init__`, whose
results are in the fields.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
from collections import OrderedDict, namedtuple
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.sym_tensor import size_of
from anyshape.torch_compat import pytree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Path = tuple[Any, ...]

_MARK: Final = "__dataclass_fields__"
_LEAF: Final = pytree.tree_structure(0)
_HEAP: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: classes that Python code makes
NAMED: Final = namedtuple  # the kind of all named tuples


class Fields:
    """The kind of a dataclass in a structure; its context is the class and the fields' names."""


class Members:
    """The kind of a plain object; its context is the class and the names of the attributes."""


class Derived:
    """The kind of a subclass of list or dict; its context is the class, the keys of a dict with
    their types, and the names of the attributes.
    """


class Level(NamedTuple):
    """One level of a container; `kind` and `context` are those of pytree."""

    kind: Any
    context: Any
    keys: list[Any]
    parts: list[Any]


def is_record(x: Any) -> bool:
    """Whether `x` is an instance of a dataclass that is not registered with pytree."""
    return has_fields(type(x), ())


@functools.lru_cache(maxsize=4096)
def _is_plain(cls: type) -> bool:
    """Whether instances have no state besides their attributes."""
    new: Any = cls.__new__
    return new is object.__new__ and not issubclass(cls, torch.nn.Module)


def has_fields(cls: type, names: tuple[str, ...]) -> bool:
    """Whether a class is a dataclass, not registered with pytree, with fields of these names."""
    if not hasattr(cls, _MARK) or not _is_plain(cls) or cls in pytree.SUPPORTED_NODES:
        return False
    return not names or set(names) <= set(_fields(cls))


def level(x: Any) -> Level | None:
    """The outermost level of a container; None for a leaf."""
    if is_record(x):
        names = _names(x)
        keys: list[Any] = [pytree.GetAttrKey(name) for name in names]
        return Level(Fields, (type(x), names), keys, [getattr(x, name) for name in names])
    kind = pytree.node_type(x)
    handler = pytree.SUPPORTED_NODES.get(kind)
    if handler is None:
        return None
    if kind in (list, dict):
        x = kind(x)  # another thread may change it meanwhile
    parts, context = handler.flatten_fn(x)
    if handler.flatten_with_keys_fn is not None:
        keys = [key for key, _ in handler.flatten_with_keys_fn(x)[0]]
    else:
        keys = [pytree.SequenceKey(i) for i in range(len(parts))]
    return Level(kind, context, keys, list(parts))


def flatten(tree: Any, *, shapes: bool = False) -> tuple[list[Any], Any]:
    """The leaves of a tree, and its structure.

    With `shapes`, a `torch.Size` is a leaf, because pytree would turn it into a tuple.
    """
    try:
        leaves, spec = pytree.tree_flatten(tree, is_leaf=_is_shape if shapes else None)
    except RecursionError:
        raise endless() from None
    if not any(hasattr(type(leaf), _MARK) and is_record(leaf) for leaf in leaves):
        return leaves, spec
    pairs, spec = flatten_with_path(tree, shapes=shapes)
    return [leaf for _, leaf in pairs], spec


def _is_shape(x: Any) -> bool:
    return type(x) is torch.Size


def flatten_with_path(tree: Any, *, shapes: bool = False) -> tuple[list[tuple[Path, Any]], Any]:
    """The leaves of a tree with the path to each, and its structure."""
    pairs: list[tuple[Path, Any]] = []
    try:
        return pairs, _spec(tree, (), pairs, shapes)
    except RecursionError:
        raise endless() from None


def endless() -> UnsupportedError:
    """The refusal of a container without an end."""
    return refused(UnsupportedError, "a container that contains itself, or is nested too deeply")


def _spec(x: Any, path: Path, pairs: list[tuple[Path, Any]], shapes: bool) -> Any:
    found = None if shapes and _is_shape(x) else level(x)
    if found is None:
        pairs.append((path, x))
        return _LEAF
    inner = [
        _spec(part, (*path, key), pairs, shapes)
        for key, part in zip(found.keys, found.parts, strict=True)
    ]
    return pytree.TreeSpec(found.kind, found.context, inner)


def unflatten(leaves: Iterable[Any], spec: Any) -> Any:
    """The tree of a structure with these leaves."""
    return pytree.tree_unflatten(leaves, spec)


def unflatten_arguments(leaves: Iterable[Any], spec: Any) -> Any:
    """The arguments of a structure with these leaves; a `torch.Size`, which pytree would turn into
    a tuple, stays one.
    """
    return _built(iter(leaves), spec)


def _built(leaves: Iterator[Any], spec: Any) -> Any:
    if spec.is_leaf():
        return next(leaves)
    parts = [_built(leaves, child) for child in spec.children()]
    if spec.type is torch.Size:
        return size_of(tuple(parts))
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)


def _names(x: Any) -> tuple[str, ...]:
    """The fields of a dataclass instance that are set; raises if it has other attributes."""
    cls: Any = type(x)
    known = _fields(cls)
    for name in _attributes(x):
        own = getattr(cls, name, None)
        if name not in known and not isinstance(own, functools.cached_property):
            raise refused(
                UnsupportedError,
                f"a {cls.__qualname__} with the attribute {name}, which is not one of its fields",
                why="a dataclass is rebuilt field by field",
                fix=f"make {name} a field or a property, or register the class with"
                f" {pytree.REGISTER}",
            )
    return tuple([name for name in known if hasattr(x, name)])


def _attributes(x: Any) -> Iterator[str]:
    cls: Any = type(x)
    yield from getattr(x, "__dict__", ())
    yield from (name for name in _slots(cls) if hasattr(x, name))


@functools.lru_cache(maxsize=4096)
def _fields(cls: Any) -> tuple[str, ...]:
    names = tuple([f.name for f in dataclasses.fields(cls)])
    for name in names:
        if isinstance(getattr(cls, name, None), property):
            raise refused(
                UnsupportedError,
                f"a {cls.__qualname__} whose field {name} is a property",
                fix=f"register the class with {pytree.REGISTER}",
            )
    return names


def _unflatten_fields(values: Iterable[Any], context: tuple[Any, tuple[str, ...]]) -> Any:
    cls, names = context
    made = object.__new__(cls)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _refuse_to_flatten(x: Any) -> Any:
    raise TypeError(f"{type(x).__name__} is a kind of structure, not a container")


def has_members(cls: type) -> bool:
    """Whether instances of a class are their attributes, and it is no dataclass."""
    return bool(cls.__flags__ & _HEAP) and _is_plain(cls) and not hasattr(cls, _MARK)


def members(x: Any) -> Level:
    """A plain object as a container of its attributes."""
    cls: Any = type(x)
    own = getattr(x, "__dict__", None) or {}
    names = [*own]
    parts = [*own.values()]
    for name in _slots(cls):
        if hasattr(x, name):
            names.append(name)
            parts.append(getattr(x, name))
    keys: list[Any] = [pytree.GetAttrKey(name) for name in names]
    return Level(Members, (cls, tuple(names)), keys, parts)


@functools.lru_cache(maxsize=4096)
def _slots(cls: type) -> tuple[str, ...]:
    names: list[str] = copyreg._slotnames(cls)  # type: ignore[attr-defined]  # typeshed has none
    return tuple(names)


@functools.lru_cache(maxsize=4096)
def _base(cls: type) -> Any:
    """The container that a class derives from, if an object is its items and attributes."""
    new: Any = cls.__new__
    of_python = cls.__flags__ & _HEAP and not hasattr(cls, "__del__") and not _slots(cls)
    bases = [base for base in (OrderedDict, dict, list) if issubclass(cls, base)]
    return bases[0] if bases and of_python and new is bases[0].__new__ else None


def derived(x: Any) -> Level | None:
    """An object of a subclass of list or dict, by its items and attributes."""
    cls: Any = type(x)
    base = _base(cls)
    if base is None or cls in pytree.SUPPORTED_NODES:
        return None
    own = getattr(x, "__dict__", None) or {}
    if base is list:
        names: Any = None
        parts = list(list.__iter__(x))
        keys: list[Any] = [pytree.SequenceKey(i) for i in range(len(parts))]
    else:
        names = [(type(key), key) for key in base.keys(x)]
        parts = list(base.values(x))
        keys = [pytree.MappingKey(key) for _, key in names]
    keys += [pytree.GetAttrKey(name) for name in own]
    return Level(Derived, (cls, names, tuple(own)), keys, [*parts, *own.values()])


def _unflatten_derived(values: Iterable[Any], context: Any) -> Any:
    cls, keys, names = context
    return rederived(cls, [key for _, key in keys or ()], names, list(values))


def rederived(cls: Any, keys: Sequence[Any], names: Sequence[str], parts: Sequence[Any]) -> Any:
    """A new object of a subclass of list or dict, of its items and attributes."""
    base = _base(cls)
    made = base.__new__(cls)
    count = len(parts) - len(names)
    if base is list:
        list.extend(made, parts[:count])
    else:
        for key, value in zip(keys, parts, strict=False):
            base.__setitem__(made, key, value)
    fill(made, names, parts[count:])
    return made


def empty(kind: Any, context: Any) -> Any:
    """A new container without parts: a list, a dict or a plain object."""
    return context[0].__new__(context[0]) if kind is Members else kind()


def fill(made: Any, names: Iterable[str], values: Iterable[Any]) -> None:
    """Set the attributes of a plain object, as they are stored."""
    own = getattr(made, "__dict__", None)
    cls: Any = type(made)
    slots = _slots(cls)
    for name, value in zip(names, values, strict=True):
        if own is None or name in slots:
            object.__setattr__(made, name, value)
        else:
            own[name] = value


def _unflatten_members(values: Iterable[Any], context: tuple[Any, tuple[str, ...]]) -> Any:
    made = empty(Members, context)
    fill(made, context[1], values)
    return made


pytree.register_pytree_node(Fields, _refuse_to_flatten, _unflatten_fields)
pytree.register_pytree_node(Members, _refuse_to_flatten, _unflatten_members)
pytree.register_pytree_node(Derived, _refuse_to_flatten, _unflatten_derived)


def containers_in(x: Any) -> Iterator[Any]:
    """The containers in a structure, from the outermost."""
    found = level(x)
    if found is not None:
        yield x
        for part in found.parts:
            yield from containers_in(part)
