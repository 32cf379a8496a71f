"""Where names begin: the module that is exported, or the variables that a function sees."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.module_attribute import REGISTRIES

if TYPE_CHECKING:
    from collections.abc import Iterator

_Function: Final = types.FunctionType
_MAX_ITEMS: Final = 1000  # of a container whose items are looked at


def root_of(fn: Any) -> torch.nn.Module | None:
    """The module that `fn` is, or is a method of."""
    found = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    return found if isinstance(found, torch.nn.Module) else None


def variables_of(fn: Any, seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """The modules and tensors that a function finds by name: in its closure, its globals, its
    defaults, the arguments of a partial, and the attributes of the object that it is a method of.

    Functions in a closure are what a decorator has wrapped: their variables count too.
    """
    seen = set() if seen is None else seen
    if id(fn) in seen:
        return
    seen.add(id(fn))
    if isinstance(fn, functools.partial):
        yield from variables_of(fn.func, seen)
        yield from _named(fn.keywords)
        return
    if isinstance(fn, types.MethodType):
        yield from variables_of(fn.__func__, seen)
        yield from _named(getattr(fn.__self__, "__dict__", {}))
        return
    if isinstance(fn, _Function):
        cells = [_content(cell) for cell in fn.__closure__ or ()]
        yield from _named(dict(zip(fn.__code__.co_freevars, cells, strict=True)))
        yield from _named({k: fn.__globals__.get(k) for k in fn.__code__.co_names})
        defaults = fn.__defaults__ or ()
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount][-len(defaults) :]
        yield from _named({**dict(zip(names, defaults, strict=False)), **(fn.__kwdefaults__ or {})})
        for inner in cells:
            if isinstance(inner, _Function | types.MethodType | functools.partial):
                yield from variables_of(inner, seen)
        return
    call = getattr(type(fn), "__call__", None)  # noqa: B004  an object with a method for it
    if isinstance(call, _Function):
        yield from variables_of(call, seen)
        yield from _named(getattr(fn, "__dict__", {}))


def attributes_of(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """The modules and tensors among the plain attributes of a module: those that it has not
    registered.
    """
    return _named({k: x for k, x in module.__dict__.items() if k not in REGISTRIES})


def _named(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The modules and tensors among variables, and in the lists, tuples and dicts among them. A key
    whose text has a dot gives no name: a dot separates the parts of one.
    """
    for name, x in variables.items():
        if _is_named(x):
            yield name, x
        elif type(x) in (list, tuple) and len(x) <= _MAX_ITEMS:
            yield from [(f"{name}[{i}]", part) for i, part in enumerate(x) if _is_named(part)]
        elif type(x) is dict and len(x) <= _MAX_ITEMS:
            found = [(f"{name}[{k!r}]", part) for k, part in x.items() if _is_named(part)]
            yield from [(text, part) for text, part in found if "." not in text]


def _is_named(x: Any) -> bool:
    return issubclass(type(x), torch.nn.Module | torch.Tensor)  # asks no object for its class


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a variable that has no value yet
        return None
