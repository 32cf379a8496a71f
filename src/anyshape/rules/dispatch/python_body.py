"""Python-implemented torch functions: their own body runs under the tracer.

The body is copied with `has_torch_function` and its variants returning False, so that it runs
instead of dispatching to the tracer again. What it warns of, itself or by a function that it calls,
goes to the tracer: it belongs to every run of the program.
"""

from __future__ import annotations

import functools
import types
import warnings
from typing import Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.env.site import in_package, is_torch
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.current import current
from anyshape.torch_compat.torch_function import DISPATCHING_WRAPPERS

_CHECKS: Final = (
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
)


def _never(*_: Any, **__: Any) -> bool:
    return False


def _warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None) -> None:
    current().warn(message, category, stacklevel)


_NO_DISPATCH: Final = dict.fromkeys(_CHECKS, _never)
_WARNINGS: Final = "warnings"  # what modules call the module of that name


class _Overlay:
    """A module with some attributes replaced."""

    def __init__(self, module: Any, replaced: dict[str, Any]) -> None:
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@functools.cache
def body_of(func: types.FunctionType) -> types.FunctionType:
    """A copy of the function that does not dispatch."""
    while hasattr(func, "__wrapped__") and isinstance(func.__wrapped__, types.FunctionType):
        if func.__module__ not in DISPATCHING_WRAPPERS and not _dispatches(func):
            func = func.__wrapped__
        else:
            break
    scope = {**func.__globals__, **_NO_DISPATCH}
    if "overrides" in func.__code__.co_names:
        overrides = _Overlay(torch.overrides, _NO_DISPATCH)
        if scope.get("torch") is torch:
            scope["torch"] = _Overlay(torch, {"overrides": overrides})
        if scope.get("overrides") is torch.overrides:
            scope["overrides"] = overrides
    for name in func.__code__.co_names:
        if name in scope and name not in _NO_DISPATCH:
            scope[name] = _told(func, scope[name])
    closure = func.__closure__
    if closure:
        closure = tuple(types.CellType(_content(cell)) for cell in closure)
    made = types.FunctionType(func.__code__, scope, func.__name__, func.__defaults__, closure)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


def warns(func: types.FunctionType) -> bool:
    """Whether a function may warn, and calls of it are not handed to the tracer."""
    return _WARNINGS in func.__code__.co_names and not _dispatches(func)


def _told(func: types.FunctionType, x: Any) -> Any:
    """A global variable of a function, whose warnings the tracer is told of."""
    if x is warnings:
        return _Overlay(warnings, {"warn": _warn})
    if type(x) is types.FunctionType and x is not func and warns(x):
        return body_of(x) if x.__module__ == func.__module__ else x
    if type(x) is types.ModuleType and in_package(x.__name__, "torch"):
        named = {n: vars(x).get(n) for n in func.__code__.co_names}
        found = {n: f for n, f in named.items() if type(f) is types.FunctionType and warns(f)}
        return _Overlay(x, {n: body_of(f) for n, f in found.items()}) if found else x
    return x


def _dispatches(func: types.FunctionType) -> bool:
    return any(name in func.__code__.co_names for name in _CHECKS)


def _content(cell: Any) -> Any:
    inner = cell.cell_contents
    torch_own = isinstance(inner, types.FunctionType) and is_torch(inner.__code__.co_filename)
    return body_of(inner) if torch_own else inner


def run_body(tracer: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the body of a torch function under the tracer."""
    tracer.depth += 1
    try:
        if tracer.depth > 50:
            site = capture_site()
            raise refused(
                UnsupportedError,
                f"{func.__module__}.{func.__name__} calls itself without end under the tracer"
                + (f" at {site}" if site else ""),
            )
        with tracer.mode:
            return body_of(func)(*args, **kwargs)
    finally:
        tracer.depth -= 1
