"""Values other than tensors to data and back: numbers, text, containers, dtypes and the like.

A value that JSON has is itself; any other is an object with one key, which names its type.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, size_of

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS: Final = (str, int, bool, type(None))
_CHOICES: Final[dict[type, str]] = {
    torch.dtype: "dtype",
    torch.memory_format: "memory_format",
    torch.layout: "layout",
}


# ---------------------------------------------------------------------- to data


def encode(x: Any, where: str, part: Callable[[Any], Any] | None = None) -> Any:
    """The data for a value. `part` encodes the parts of a container; `where` is for messages."""
    kind = type(x)
    if x is None or kind is bool or kind is str:
        return x
    if kind is int:
        if abs(x) > checked.MAX_INT:
            raise UnsupportedError(
                f"cannot save an integer beyond 64 bits, in {where}", code="AS511"
            )
        return x
    if kind is float:
        return x if math.isfinite(x) else {"float": repr(x)}
    inner = part or (lambda y: encode(y, where))
    if kind is list:
        return [inner(y) for y in x]
    if kind in (tuple, SymSize, torch.Size):
        return {"tuple" if kind is tuple else "size": [inner(y) for y in x]}
    if kind is dict and all(type(k) in KEYS for k in x):
        return {"dict": [[k, inner(y)] for k, y in x.items()]}
    if kind is slice:
        return {"slice": [inner(y) for y in (x.start, x.stop, x.step)]}
    return _rare(x, kind, where)


def _rare(x: Any, kind: type, where: str) -> Any:
    if x is Ellipsis:
        return {"ellipsis": True}
    if kind is complex:
        return {"complex": [repr(x.real), repr(x.imag)]}
    if kind in _CHOICES:
        return {_CHOICES[kind]: name_of(x)}
    if kind is torch.device:
        return {"device": str(x)}
    raise UnsupportedError(
        f"cannot save a program with {where} that is a {kind.__module__}.{kind.__qualname__}",
        why="the file format has no form for it",
        code="AS511",
    )


def name_of(x: Any) -> str:
    """The name of a dtype and the like."""
    return str(x).removeprefix("torch.")


# ---------------------------------------------------------------------- from data


def decode(
    data: Any, where: str, depth: int = 0, part: Callable[[Any, str, int], Any] | None = None
) -> Any:
    """The value of the data. `part` decodes the parts of a container, one level deeper."""
    kind = type(data)
    if data is None or kind in (bool, float):
        return data
    if kind is int:
        return checked.number(data, where)
    if kind is str:
        return checked.text(data, where)
    if depth > checked.MAX_DEPTH:
        raise LoadError(f"{where} is nested too deeply")
    inner = part or decode
    if kind is list:
        return [inner(x, where, depth + 1) for x in data]
    if kind is not dict or len(data) != 1:
        checked.refuse(where, "a value", data)
    ((tag, content),) = data.items()
    if tag == "dict":
        found: dict[Any, Any] = {}
        for pair in checked.items(content, where):
            key, x = checked.items(pair, where, 2)
            if type(key) not in KEYS or key in found:
                checked.refuse(where, "another key", key)
            found[key] = inner(x, where, depth + 1)
        return found
    if tag in ("tuple", "size", "slice"):
        parts = [inner(x, where, depth + 1) for x in checked.items(content, where)]
        return _sequence(tag, parts, where)
    return _named(tag, content, where)


def _sequence(tag: str, parts: list[Any], where: str) -> Any:
    if tag == "tuple":
        return tuple(parts)
    if tag == "slice":
        return slice(*checked.items(parts, where, 3))
    if any(type(n) not in (int, SymInt) for n in parts):
        raise LoadError(f"{where} has a shape with {parts} in it"[:300])
    return size_of(tuple(parts))


def _named(tag: str, content: Any, where: str) -> Any:
    if tag == "float":
        found = checked.real(content, where)
        if math.isfinite(found):
            checked.refuse(where, "a float that JSON has no form for", content)
        return found
    if tag == "complex":
        return complex(*[checked.real(x, where) for x in checked.items(content, where, 2)])
    if tag == "dtype":
        return checked.one_of(content, checked.DTYPES, where)
    if tag == "memory_format":
        return checked.one_of(content, checked.FORMATS, where)
    if tag == "layout":
        return checked.one_of(content, checked.LAYOUTS, where)
    if tag == "device":
        return checked.device(content, where)
    if tag == "ellipsis" and content is True:
        return Ellipsis
    raise LoadError(f"{where} has a value of unknown type {tag[:60]!r}")
