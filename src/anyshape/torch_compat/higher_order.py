"""torch's higher-order functions, and how a transformed function was made.

Without it, calls of `map`, `scan` and `associative_scan` and of functions that were transformed
before the trace are not seen, and run below the level that is traced.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

import torch
from torch._functorch import apis, eager_transforms, predispatch
from torch._higher_order_ops import (
    associative_scan,
    cond,
    map,
    scan,
    while_loop,
)
from torch._higher_order_ops import auto_functionalize as _functional
from torch._higher_order_ops.associative_scan import generic_associative_scan as _by_halves

__all__ = [
    "FUNCTIONALIZED",
    "LEVELS",
    "OPERATORS",
    "associative_scan",
    "cond",
    "generic_associative_scan",
    "map",
    "scan",
    "transform_of",
    "while_loop",
]

OPERATORS: Final = {
    name: getattr(torch.ops.higher_order, name)
    for name in ("cond", "while_loop", "map_impl", "scan", "wrap")
}
"""The operators behind the functions, which graphs of torch call."""


FUNCTIONALIZED: Final[dict[Any, Any]] = {
    torch.ops.higher_order.auto_functionalized: _functional.auto_functionalized_dense,
    torch.ops.higher_order.auto_functionalized_v2: _functional.auto_functionalized_v2_dense,
}
"""Calls, in decomposed graphs, of ops that change their operands, on copies of these; and the
functions that make the copies and call the ops."""

LEVELS: Final = tuple(
    getattr(predispatch, name)
    for name in ("_vmap_increment_nesting", "_jvp_increment_nesting")
    if hasattr(predispatch, name)  # torch before 2.13 lacks the second
)
"""Calls, in graphs of torch, that begin a transform: those of the graph are transformed until it
ends."""


generic_associative_scan: Final[Any] = _by_halves
"""An associative function over all prefixes, by halves: the order in which eager combines."""


class Transform(NamedTuple):
    """A function that torch has transformed: by what, the function itself, and the options."""

    name: str
    function: Any
    options: dict[str, Any]


def _wrappers() -> dict[CodeType, str]:
    """The code of the functions that the transforms return, with the name of the transform."""
    found: dict[CodeType, str] = {}
    for module in (apis, eager_transforms):
        for name in ("vmap", "grad", "grad_and_value", "jacrev", "jacfwd"):
            function: Any = getattr(module, name, None)
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
            if type(function) is FunctionType:
                codes = [c for c in function.__code__.co_consts if type(c) is CodeType]
                found.update({c: name for c in codes if c.co_name.startswith("wrap")})
    return found


_WRAPPERS: Final = _wrappers()


def transform_of(function: FunctionType) -> Transform | None:
    """How torch has made a transformed function; None for any other function."""
    name = _WRAPPERS.get(function.__code__)
    if name is None:
        return None
    cells = function.__closure__ or ()
    options = {
        key: cell.cell_contents
        for key, cell in zip(function.__code__.co_freevars, cells, strict=True)
    }
    inner = options.pop("func", None)
    return None if inner is None else Transform(name, inner, options)
