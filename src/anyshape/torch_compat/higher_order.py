"""torch's higher-order functions, and how a transformed function was made.

Without it, calls of `map`, `scan` and `associative_scan` and of functions that were transformed
before the trace are not seen, and run below the level that is traced.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple

import torch
from torch._functorch import apis, eager_transforms
from torch._higher_order_ops import (
    associative_scan,
    cond,
    map,
    scan,
    while_loop,
)
from torch._higher_order_ops.associative_scan import generic_associative_scan as _by_halves

__all__ = [
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
    for name in ("cond", "while_loop", "map_impl", "scan")
}
"""The operators behind the functions, which graphs of torch call."""


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
