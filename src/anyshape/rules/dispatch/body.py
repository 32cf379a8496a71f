"""Python-implemented torch functions: their own body runs under the tracer.

The body is copied with `has_torch_function` and its variants returning False, so that it runs
instead of dispatching to the tracer again.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Final

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.torch_compat.torch_function import DISPATCHING_WRAPPERS

_CHECKS: Final = (
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
)


def _never(*_: Any, **__: Any) -> bool:
    return False


_NO_DISPATCH: Final = dict.fromkeys(_CHECKS, _never)


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
    if "overrides" in func.__code__.co_names and scope.get("torch") is torch:
        scope["torch"] = _Overlay(torch, {"overrides": _Overlay(torch.overrides, _NO_DISPATCH)})
    closure = func.__closure__
    if closure:
        closure = tuple(types.CellType(_content(cell)) for cell in closure)
    made = types.FunctionType(func.__code__, scope, func.__name__, func.__defaults__, closure)
    made.__kwdefaults__ = func.__kwdefaults__
    return made


def _dispatches(func: types.FunctionType) -> bool:
    return any(name in func.__code__.co_names for name in _CHECKS)


def _content(cell: Any) -> Any:
    inner = cell.cell_contents
    torch_own = isinstance(inner, types.FunctionType) and inner.__module__.startswith("torch")
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
