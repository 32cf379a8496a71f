"""The callees of a function in pieces: functions and modules of the user's are compiled in turn."""

from __future__ import annotations

import inspect
import types
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.compile.data_parallel import served
from anyshape.compile.pieces.routed import routed
from anyshape.env.site import in_package
from anyshape.torch_compat.dynamo import is_disabled, is_disabled_alone, original_of
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.twin.twin import twin_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.compile.data_parallel import Served

# functions that look at their callers must find them
_FRAMES: Final = frozenset(("_getframe", "currentframe", "locals"))
_STACK: Final = frozenset(("inspect", "stack"))  # the second alone may be torch's
_UNFIT: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_MOST_FUNCTIONS: Final = 8  # with the same code: one that is made on each call is not compiled
_MOST_OBJECTS: Final = 256  # of one class


class Callees:
    """Compiled functions by what the program calls."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._known: dict[tuple[int, int], tuple[Any, Served]] = {}
        self._as_python: dict[int, tuple[Any, Any]] = {}
        self._counts: Counter[Any] = Counter()

    def __call__(self, f: Any) -> Any:
        """The callable in place of `f`."""
        kind = type(f)
        if is_disabled_alone(f):
            return self._routed(f)
        if kind is types.FunctionType:
            return self._of(f, f, f, _MOST_FUNCTIONS, f.__code__) if _is_compiled(f) else f
        if kind is types.MethodType and type(f.__func__) is types.FunctionType:
            owner = f.__self__
            if not _is_compiled(f.__func__) or isinstance(owner, torch.Tensor):
                return f
            return self._of(owner, f.__func__, f, _MOST_OBJECTS, (type(owner), f.__func__))
        if isinstance(f, torch.nn.Module) and _has_own_code(f):
            return self._of(f, f, f, _MOST_OBJECTS, kind)
        return f

    @property
    def compiled(self) -> list[Any]:
        """The compiled functions so far."""
        return [made.compiled for _, made in self._known.values()]

    def _routed(self, f: Any) -> Any:
        """A function that runs as Python; what it calls is compiled in turn."""
        method = type(f) is types.MethodType
        original = original_of(f)
        if type(original) is not types.FunctionType:
            return f
        if id(original) not in self._as_python:
            made = routed(original, self) if is_twinned(original.__code__) else None
            self._as_python[id(original)] = (original, made or original)
        found = self._as_python[id(original)][1]
        return types.MethodType(found, f.__self__) if method else found

    def _of(self, owner: Any, function: Any, f: Any, most: int, group: Any) -> Any:
        key = (id(owner), id(function))
        found = self._known.get(key)
        if found is None:
            if self._counts[group] >= most:
                return f
            self._counts[group] += 1
            found = self._known[key] = (f, served(f, self._make))
        return found[1].run


def _is_compiled(f: types.FunctionType) -> bool:
    code = f.__code__
    if is_disabled(f):
        return False
    if code.co_flags & _UNFIT or not _FRAMES.isdisjoint(code.co_names):
        return False
    if _STACK.issubset(code.co_names):
        return False
    return is_twinned(code) and twin_code(code) is not None


def _has_own_code(m: torch.nn.Module) -> bool:
    """Whether a module is more than one op of torch, and not compiled already."""
    if in_package(getattr(type(m).__call__, "__module__", None), "anyshape"):
        return False
    return next(m.children(), None) is not None or not in_package(type(m).__module__, "torch")
