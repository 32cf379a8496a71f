"""A value as text-like data that two executions can compare: exact, deep, with identities.

`Eye.see` describes a value by nested tuples. Numbers are described by type and bits, tensors by
metadata and values, containers and objects by their content. Each mutable object gets a number when
it is seen first and keeps it over all calls, so a value that comes back as the same object, or as
another one, is told apart. Functions are described by their code, cells, defaults and the globals
that they name, which makes the state around a program visible without a list of it.
"""

from __future__ import annotations

import collections
import contextvars
import functools
import io
import itertools
import logging
import random
import re
import threading
import types
import weakref
from typing import Any

import numpy as np
import torch

PLAIN = (str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice)
VALUES = (torch.dtype, torch.device, torch.layout, torch.memory_format)
SEQUENCES = (list, tuple, collections.deque)
DEPTH = 40
INSIDE: dict[Any, Any] = {  # what is in objects whose state no attribute shows
    functools.partial: lambda v: (v.func, v.args, v.keywords),
    weakref.ref: lambda v: (v(),),
    contextvars.ContextVar: lambda v: (v.get(None),),
    threading.Event: lambda v: (v.is_set(),),
    itertools.count: lambda v: (repr(v),),
    io.StringIO: lambda v: (v.getvalue(),),
    io.BytesIO: lambda v: (v.getvalue(),),
    bytearray: lambda v: (bytes(v),),
    random.Random: lambda v: (hash(v.getstate()),),
    np.random.Generator: lambda v: (repr(v.bit_generator.state),),
    torch.Generator: lambda v: (hash(v.get_state().numpy().tobytes()),),
    property: lambda v: (v.fget, v.fset),
    classmethod: lambda v: (v.__func__,),
    staticmethod: lambda v: (v.__func__,),
    BaseException: lambda v: (v.args,),
    functools._lru_cache_wrapper: lambda v: (v.__wrapped__,),
    logging.Logger: lambda v: (v.name, v.level, v.disabled),
}


class Eye:
    """Describes values; `home` is the name of the module that a program runs in."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.numbers: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.alive: list[Any] = []
        self.seen: set[int] = set()
        self.leaves: list[torch.Tensor] = []

    def look(self, value: Any) -> Any:
        """Describe a value anew: what was described before is described again."""
        self.seen.clear()
        self.leaves.clear()
        return self.see(value)

    def number(self, value: Any) -> int:
        """The number of an object, the same as long as the eye lives."""
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.numbers)
            self.alive.append(value)
        return self.numbers[id(value)]

    def name(self, kind: Any) -> str:
        module = getattr(kind, "__module__", "")
        return f"{'home' if module == self.home else module}.{kind.__qualname__}"

    def see(self, value: Any, depth: int = 0) -> Any:
        """Describe a value; an object that was described in this look is only named."""
        kind = type(value)
        if kind.__module__.startswith("anyshape"):
            return "anyshape", kind.__qualname__
        if isinstance(value, PLAIN):
            return self.name(kind), self.text(repr(value))
        if kind is int and 2**44 < value < 2**48:
            return ("address",)
        if kind in (int, bool, float, complex):
            return kind.__name__, value.hex() if kind is float else repr(value)
        if isinstance(value, VALUES):
            return "value", repr(value)
        if isinstance(value, np.generic):
            return self.name(kind), value.tobytes().hex()
        if isinstance(value, type):
            return self.type(value, depth)
        if isinstance(value, types.ModuleType):
            return "module", "home" if value.__name__ == self.home else value.__name__
        if depth > DEPTH:
            return ("too deep",)
        if kind in (tuple, frozenset, torch.Size, types.MethodType, types.BuiltinFunctionType):
            return self.fixed(value, depth)
        number = self.number(value)
        if id(value) in self.seen:
            return "again", number
        self.seen.add(id(value))
        return self.name(kind), number, *self.content(value, depth + 1)

    def text(self, text: str) -> str:
        text = text.replace(self.home, "home")
        return re.sub(r"0x[0-9a-f]+", "0x", text)

    def fixed(self, value: Any, depth: int) -> Any:
        """Values without identity of their own."""
        if isinstance(value, types.MethodType):
            return (
                "method",
                self.see(value.__func__, depth + 1),
                self.see(value.__self__, depth + 1),
            )
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            inner = () if isinstance(owner, types.ModuleType | type) else self.see(owner, depth + 1)
            return "builtin", value.__qualname__, inner
        parts = [self.see(v, depth + 1) for v in value]
        if isinstance(value, frozenset):
            parts.sort(key=repr)
        return self.name(type(value)), *parts

    def type(self, value: type, depth: int) -> Any:
        """A class, with its attributes if it is the program's."""
        if value.__module__ != self.home or id(value) in self.seen:
            return "type", self.name(value)
        self.seen.add(id(value))
        own = [(k, v) for k, v in vars(value).items() if not _is_dunder(k)]
        return "type", self.name(value), *((k, self.see(v, depth + 1)) for k, v in own)

    def content(self, value: Any, depth: int) -> Any:
        """What is in an object that has an identity."""
        if isinstance(value, torch.Tensor):
            yield from self.tensor(value, depth)
        elif isinstance(value, types.FunctionType):
            yield from self.function(value, depth)
        elif isinstance(value, np.ndarray):
            yield from (value.dtype.str, value.shape, value.strides, value.tobytes().hex())
        elif isinstance(value, dict | types.MappingProxyType):
            yield tuple((self.see(k, depth), self.see(v, depth)) for k, v in _items(value))
        elif isinstance(value, list | tuple | collections.deque):
            plain = next(kind for kind in SEQUENCES if isinstance(value, kind))
            yield tuple(self.see(v, depth) for v in plain.__iter__(value))
        elif isinstance(value, set):
            yield tuple(sorted((self.see(v, depth) for v in set.__iter__(value)), key=repr))
        else:
            yield from self.other(value, depth)
        yield from self.attributes(value, depth)

    def attributes(self, value: Any, depth: int) -> Any:
        """Attributes and slots, but of foreign objects that are no containers."""
        if isinstance(value, types.FunctionType | logging.Logger):
            return
        for key, v in list(_own(value).items()):
            if key != "__wrapped__" and not key.startswith("_dynamo_"):  # torch's notes on tensors
                keyed = isinstance(value, torch.nn.Module) and key.endswith("hooks")
                yield key, self.see(list(v.values()) if keyed else v, depth)  # keys are serial
        for kind in type(value).__mro__:
            slots = vars(kind).get("__slots__", ()) if kind.__module__ == self.home else ()
            for key in (slots,) if isinstance(slots, str) else slots:
                if not _is_dunder(key) and hasattr(value, key):
                    yield key, self.see(getattr(value, key), depth)

    def other(self, value: Any, depth: int) -> Any:
        """Objects of the standard library and of torch with state that no attribute shows."""
        for kind, parts in INSIDE.items():
            if isinstance(value, kind):
                yield from (self.see(part, depth) for part in parts(value))
                return
        if isinstance(value, types.CellType):
            yield self.cell(value, depth)

    def cell(self, value: types.CellType, depth: int) -> Any:
        try:
            return self.see(value.cell_contents, depth)
        except ValueError:
            return ("empty",)

    def function(self, value: types.FunctionType, depth: int) -> Any:
        """The code by place and, for a function of the program, all that it can reach."""
        code = value.__code__
        yield from (self.text(value.__qualname__), code.co_name, code.co_firstlineno)
        if value.__module__ != self.home:
            return
        cells = zip(code.co_freevars, value.__closure__ or (), strict=False)
        yield from ((name, self.cell(cell, depth)) for name, cell in cells)
        yield self.see(value.__defaults__, depth)
        yield self.see(value.__kwdefaults__, depth)
        yield from ((k, self.see(v, depth)) for k, v in vars(value).items() if k != "__wrapped__")
        around = value.__globals__
        for name in _names(code):
            if name in around:
                yield name, self.see(around[name], depth)

    def tensor(self, t: torch.Tensor, depth: int) -> Any:
        """Metadata, values, autograd state and what memory a tensor shares."""
        if torch.nn.parameter.is_lazy(t):
            yield "lazy"
            return
        yield from (str(t.dtype), tuple(t.shape), str(t.layout), str(t.device))
        yield from (t.requires_grad, t.is_leaf, t.grad_fn is None, t.is_inference())
        if t.requires_grad and t.is_leaf:
            self.leaves.append(t)
        if t.layout is torch.strided and not t.is_quantized and t.device.type != "meta":
            memory = t.untyped_storage()._cdata
            self.alive.append(t.untyped_storage())
            yield t.stride(), t.storage_offset(), t.is_neg(), t.is_conj()
            yield "memory", self.storages.setdefault(memory, len(self.storages))
        yield _values(t)
        if t.is_leaf:
            yield "grad", self.see(t.grad, depth)


def _own(value: Any) -> dict[str, Any]:
    """The dict of an object, without its own ways to answer."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def _items(value: Any) -> list[Any]:
    """The items as the plain class gives them, not as a subclass does."""
    for kind in (types.MappingProxyType, collections.OrderedDict):
        if isinstance(value, kind):
            return list(kind.items(value))
    return list(dict.items(value))


def _names(code: types.CodeType) -> list[str]:
    """The names that code and the code in it may look up in globals."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*dict.fromkeys([*code.co_names, *(n for c in inner for n in _names(c))])]


def _values(t: torch.Tensor) -> Any:
    with torch.no_grad():
        t = t.detach()
        if type(t) is not torch.Tensor:
            t = t.as_subclass(torch.Tensor)
        if t.device.type == "meta":
            return "meta"
        if t.is_quantized:
            t = t.int_repr()
        if t.layout is not torch.strided:
            t = t.to_dense()
        return repr(t.tolist())


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def contrast(got: Any, want: Any, path: str = "") -> str:
    """Where two descriptions differ first; empty if they do not."""
    if got == want:
        return ""
    if isinstance(got, tuple) and isinstance(want, tuple):
        for i, (a, b) in enumerate(zip(got, want, strict=False)):
            if a != b:
                label = a[0] if isinstance(a, tuple) and a and isinstance(a[0], str) else i
                return contrast(a, b, f"{path}/{label}")
    return f"{path or '/'}: {short(got)} for {short(want)}"


def unnumbered(description: Any) -> Any:
    """A description without the numbers of objects."""
    if not isinstance(description, tuple):
        return description
    parts = [unnumbered(part) for part in description]
    if len(parts) > 1 and isinstance(parts[0], str) and type(parts[1]) is int:
        del parts[1]
    return tuple(parts)


def short(description: Any) -> str:
    text = repr(description)
    return text if len(text) < 160 else f"{text[:157]}..."
