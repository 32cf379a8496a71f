"""The structure of inputs and outputs as data: containers of Python and torch, and named tuples.

A named tuple is known by its name and fields. A loaded program makes its own class for it, which is
taken for equal to any class with the same name and fields.
"""

from __future__ import annotations

import functools
import keyword
from collections import OrderedDict, deque, namedtuple
from operator import itemgetter
from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export import checked

_RETURNED: Final[dict[str, Any]] = {
    name: cls
    for name, cls in vars(torch.return_types).items()
    if isinstance(cls, type) and cls in pytree.SUPPORTED_NODES
}
_KEYS: Final = (str, int, bool, type(None))


class _Record(type):
    """The class of named tuples that are known by their fields."""

    _fields: tuple[str, ...]

    def __eq__(cls, other: object) -> bool:
        return cls is other or (
            isinstance(other, type)
            and other.__name__ == cls.__name__
            and getattr(other, "_fields", None) == cls._fields
        )

    def __ne__(cls, other: object) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash((cls.__name__, cls._fields))


@functools.lru_cache(maxsize=1024)
def record_class(name: str, fields: tuple[str, ...]) -> Any:
    """A class of named tuples, made without generating code."""

    def new(cls: Any, *values: Any) -> Any:
        if len(values) != len(fields):
            raise TypeError(f"{name} takes {len(fields)} values, not {len(values)}")
        return tuple.__new__(cls, values)

    def show(self: Any) -> str:
        return f"{name}({', '.join(f'{f}={v!r}' for f, v in zip(fields, self, strict=True))})"

    body: dict[str, Any] = {f: property(itemgetter(i)) for i, f in enumerate(fields)}
    body |= {
        "__slots__": (),
        "_fields": fields,
        "__new__": new,
        "__repr__": show,
        "_make": classmethod(lambda cls, values: cls(*values)),
        "_asdict": lambda self: dict(zip(fields, self, strict=True)),
    }
    return _Record(name, (tuple,), body)


# ---------------------------------------------------------------------- to data


def encode(spec: Any) -> Any:
    """The data for a structure; raises for a container of an unknown class, which it names."""
    _need_known(spec)
    return _encode(pytree.tree_unflatten([0] * spec.num_leaves, spec))


def _need_known(spec: Any) -> None:
    if spec.is_leaf():
        return
    kind = spec.type
    known = kind in (dict, list, tuple, OrderedDict, deque, torch.Size, namedtuple)
    if not known and kind not in _RETURNED.values():
        raise UnsupportedError(
            f"saving a program with a {kind.__module__}.{kind.__qualname__} among its inputs or"
            " outputs",
            why="a loaded program knows no class of yours",
            fix="use dicts, lists, tuples and named tuples",
        )
    for child in spec.children():
        _need_known(child)


def _encode(x: Any) -> Any:
    kind = type(x)
    if kind is int:
        return 0
    if kind in (dict, OrderedDict):
        for key in x:
            if type(key) not in _KEYS:
                raise UnsupportedError(f"saving a dict with the key {key!r} in it")
        name = "dict" if kind is dict else "ordered_dict"
        return {name: [[key, _encode(part)] for key, part in x.items()]}
    parts = [_encode(part) for part in x]
    if kind is deque:
        return {"deque": [x.maxlen, parts]}
    if kind in (list, tuple, torch.Size):
        return {kind.__name__.lower(): parts}
    if kind.__name__ in _RETURNED and _RETURNED[kind.__name__] is kind:
        return {"returned": [kind.__name__, parts]}
    return {"named": [kind.__name__, list(kind._fields), parts]}


# ---------------------------------------------------------------------- from data


def decode(data: Any, where: str) -> Any:
    """The structure that data describes."""
    return pytree.tree_structure(_decode(data, where, 0))


def _decode(data: Any, where: str, depth: int) -> Any:
    if type(data) is int and data == 0:
        return 0
    if depth > checked.MAX_DEPTH:
        raise LoadError(f"{where} is nested too deeply")
    if type(data) is not dict or len(data) != 1:
        checked.refuse(where, "a structure", data)
    ((tag, content),) = data.items()
    content = checked.items(content, where)
    if tag in ("dict", "ordered_dict"):
        return _dict({} if tag == "dict" else OrderedDict(), content, where, depth)
    if tag == "deque":
        limit, parts = checked.items(content, where, 2)
        checked.optional(checked.number, limit, where, 0, checked.MAX_SIZE)
        return deque(_parts(parts, where, depth), limit)
    if tag == "named":
        name, fields, parts = checked.items(content, where, 3)
        names = tuple([_identifier(f, where) for f in checked.items(fields, where)])
        if len(set(names)) != len(names) or any(f[0] == "_" for f in names):
            raise LoadError(f"{where} has fields that no named tuple has")
        inside = _parts(checked.items(parts, where, len(names)), where, depth)
        return record_class(_identifier(name, where), names)(*inside)
    if tag == "returned":
        name, parts = checked.items(content, where, 2)
        cls = checked.one_of(name, _RETURNED, where)
        inside = _parts(checked.items(parts, where, cls.n_sequence_fields), where, depth)
        return cls(inside)
    inside = _parts(content, where, depth)
    if tag == "size":
        if any(type(part) is not int for part in inside):
            raise LoadError(f"{where} has a container inside a shape")
        return torch.Size(inside)
    return checked.one_of(tag, {"list": list, "tuple": tuple}, where)(inside)


def _dict(found: dict[Any, Any], content: list[Any], where: str, depth: int) -> dict[Any, Any]:
    for pair in content:
        key, part = checked.items(pair, where, 2)
        if type(key) not in _KEYS or key in found:
            checked.refuse(where, "another key", key)
        found[key] = _decode(part, where, depth + 1)
    return found


def _parts(content: Any, where: str, depth: int) -> list[Any]:
    return [_decode(part, where, depth + 1) for part in checked.items(content, where)]


def _identifier(x: Any, where: str) -> str:
    name = checked.text(x, where)
    if not name.isidentifier() or keyword.iskeyword(name) or len(name) > 200:
        checked.refuse(where, "a name", x)
    return name
