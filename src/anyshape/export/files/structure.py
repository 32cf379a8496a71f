"""The structure of inputs and outputs as data: containers of Python and torch, and of any class.

A class is identified by its name; where a loaded program may not use it, a `StandIn` replaces it. A
named tuple is identified by its name and fields: a loaded program makes its own class for it, which
compares equal to any class with the same name and fields.
"""

from __future__ import annotations

import functools
import keyword
from collections import OrderedDict, defaultdict, deque, namedtuple
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked, plain
from anyshape.export.files.stand_in import Classes, Foreign, StandIn, qualified
from anyshape.torch_compat import pytree
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Iterator

_RETURNED: Final[dict[str, Any]] = {
    name: cls
    for name, cls in vars(torch.return_types).items()
    if isinstance(cls, type) and cls in pytree.SUPPORTED_NODES
}
_DICTS: Final = {dict: "dict", OrderedDict: "ordered_dict"}
_FACTORIES: Final[dict[str, Any]] = {
    "none": None,
    **{f.__name__: f for f in (list, dict, set, tuple, int, float, str)},
}
_NAMES: Final = {factory: name for name, factory in _FACTORIES.items()}
_PYTHON: Final = (dict, OrderedDict, defaultdict, deque, list, tuple, torch.Size, namedtuple)
_OWN: Final = (*_PYTHON, StandIn, tree.Fields, tree.Members, tree.Derived)
_MAX_CLASS_NAME: Final = 1000


class _Record(type):
    """The metaclass of named tuples that are identified by name and fields."""

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
    """The data for a structure."""
    if spec.is_leaf():
        return 0
    kind: Any = spec.type
    context = spec.context
    parts = [encode(child) for child in spec.children()]
    if kind in (dict, OrderedDict):
        return {_DICTS[kind]: _pairs(context, parts)}
    if kind is defaultdict:
        factory, keys = context
        if factory not in _FACTORIES.values():
            raise UnsupportedError(
                f"cannot save a defaultdict of {factory!r}",
                fix=f"use one of {', '.join(_FACTORIES)}",
                code="AS511",
            )
        return {"default_dict": [_NAMES[factory], _pairs(keys, parts)]}
    if kind is deque:
        return {"deque": [context, parts]}
    if kind in (list, tuple, torch.Size):
        return {kind.__name__.lower(): parts}
    if kind is namedtuple:
        return {"named": [context.__name__, list(context._fields), parts]}
    if kind in _RETURNED.values():
        return {"returned": [kind.__name__, parts]}
    of = foreign(kind, context, len(parts))
    assert of is not None  # all others are above
    if of.is_dataclass:
        return {"dataclass": [of.name, list(of.names or ()), parts]}
    names = None if of.names is None else list(of.names)
    about = plain.encode(of.context, f"a container of class {of.name} with a pytree context")
    return {"class": [of.name, names, about, parts]}


def _pairs(keys: Any, parts: list[Any]) -> list[Any]:
    for key in keys:
        if type(key) not in plain.KEYS:
            raise UnsupportedError(f"cannot save a dict with the key {key!r} in it", code="AS511")
    return [list(pair) for pair in zip(keys, parts, strict=True)]


def foreign(kind: Any, context: Any, count: int) -> Foreign | None:
    """The class of a node with `count` parts; None for the containers of Python and torch."""
    if kind is StandIn:
        found: Foreign = context
        return found
    if kind is tree.Fields or kind is tree.Members:
        cls, names = context
        return Foreign(qualified(cls), names, None, is_dataclass=True)
    if kind is tree.Derived:
        raise UnsupportedError(
            f"cannot save a {context[0].__qualname__}, a subclass of a container of Python",
            fix=f"return a plain container, or register the class with {pytree.REGISTER}",
            code="AS511",
        )
    if kind in _PYTHON or kind in _RETURNED.values():
        return None
    return Foreign(qualified(kind), _part_names(context, count), context, is_dataclass=False)


def _part_names(context: Any, count: int) -> tuple[str, ...] | None:
    """The names of the parts, which most classes have as their context or in it."""
    within = context if isinstance(context, list | tuple) else ()
    for names in (within, *within):
        if (
            isinstance(names, list | tuple)
            and len(names) == count
            and all(type(name) is str for name in names)
            and len(set(names)) == count
        ):
            return tuple(names)
    return None


# ---------------------------------------------------------------------- from data


def decode(data: Any, where: str, classes: Classes) -> Any:
    """The structure that data describes, with stand-ins for classes that are not available."""
    return _resolved(pytree.tree_structure(_decode(data, where, 0)), classes)


def _resolved(spec: Any, classes: Classes) -> Any:
    if spec.is_leaf():
        return spec
    kind, context = spec.type, spec.context
    if kind is namedtuple:
        context = classes.named(context)
    elif kind is StandIn:
        cls = classes.container(context)
        if cls in _OWN or cls in _RETURNED.values():  # files do not name these as classes
            cls = None
        if cls is not None and context.is_dataclass:
            kind = tree.Fields if tree.has_fields(cls, context.names) else tree.Members
            context = (cls, context.names)
        elif cls is not None:
            kind, context = cls, context.context
    return pytree.TreeSpec(kind, context, [_resolved(child, classes) for child in spec.children()])


def rebuilt(leaves: list[Any], spec: Any) -> Any:
    """The tree of a structure from a file; raises if a class does not rebuild what was saved."""
    return _rebuilt(iter(leaves), spec)


def _rebuilt(leaves: Iterator[Any], spec: Any) -> Any:
    if spec.is_leaf():
        return next(leaves)
    kind, context = spec.type, spec.context
    parts = [_rebuilt(leaves, child) for child in spec.children()]
    make = pytree.SUPPORTED_NODES[kind].unflatten_fn
    if kind in (StandIn, tree.Members) or foreign(kind, context, len(parts)) is None:
        return make(parts, context)
    try:
        made = make(parts, context)
        found = tree.level(made)
    except Exception as e:  # raised by a class of the user's
        raise _not_made(kind, f"{type(e).__name__}: {str(e)[:200]}") from e
    if found is None or (found.kind, found.context) != (kind, context):
        raise _not_made(kind, "its unflatten function made something else")
    return made


def _not_made(kind: Any, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"cannot rebuild a {kind.__qualname__} from a saved program",
        why=why,
        fix="load the program with classes=() to get stand-ins",
        code="AS511",
    )


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
    if tag in ("class", "dataclass"):
        return _stand_in(tag, content, where, depth)
    if tag in ("default_dict", "deque", "named", "returned"):
        return _special(tag, content, where, depth)
    inside = _parts(content, where, depth)
    if tag == "size":
        if any(type(part) is not int for part in inside):
            raise LoadError(f"{where} has a container inside a shape")
        return torch.Size(inside)
    return checked.one_of(tag, {"list": list, "tuple": tuple}, where)(inside)


def _special(tag: str, content: list[Any], where: str, depth: int) -> Any:
    if tag == "default_dict":
        factory, pairs = checked.items(content, where, 2)
        made: Any = defaultdict(checked.one_of(factory, _FACTORIES, where))
        return _dict(made, checked.items(pairs, where), where, depth)
    if tag == "deque":
        limit, parts = checked.items(content, where, 2)
        checked.optional(checked.number, limit, where, 0, checked.MAX_SIZE)
        return deque(_parts(parts, where, depth), limit)
    if tag == "named":
        name, fields, parts = checked.items(content, where, 3)
        names = tuple([_identifier(f, where) for f in checked.items(fields, where)])
        if len(set(names)) != len(names) or any(f[0] == "_" for f in names):
            raise LoadError(f"{where} has invalid names of fields of a named tuple")
        inside = _parts(checked.items(parts, where, len(names)), where, depth)
        return record_class(_identifier(name, where), names)(*inside)
    name, parts = checked.items(content, where, 2)
    cls = checked.one_of(name, _RETURNED, where)
    inside = _parts(checked.items(parts, where, cls.n_sequence_fields), where, depth)
    return cls(inside)


def _stand_in(tag: str, content: list[Any], where: str, depth: int) -> StandIn:
    if tag == "class":
        name, names_, context_, parts = checked.items(content, where, 4)
        context = plain.decode(context_, where, depth)
    else:
        name, names_, parts = checked.items(content, where, 3)
        context = None
    if len(checked.text(name, where)) > _MAX_CLASS_NAME:
        checked.refuse(where, "the name of a class", name)
    inside = _parts(parts, where, depth)
    names = None
    if names_ is not None or tag == "dataclass":
        listed = checked.items(names_, where, len(inside))
        names = tuple([checked.text(n, where) for n in listed])
        if len(set(names)) != len(names):
            raise LoadError(f"{where} has a class with two parts of one name")
    if tag == "class" and names != _part_names(context, len(inside)):
        raise LoadError(f"{where} has a class whose names of parts are not those in its context")
    return StandIn(Foreign(name, names, context, tag == "dataclass"), inside)


def _dict(found: dict[Any, Any], content: list[Any], where: str, depth: int) -> dict[Any, Any]:
    for pair in content:
        key, part = checked.items(pair, where, 2)
        if type(key) not in plain.KEYS or key in found:
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
