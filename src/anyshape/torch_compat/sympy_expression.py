"""The expressions behind torch's symbolic numbers, and the functions that compute them."""

from __future__ import annotations

import operator
from typing import Any, Final

import sympy
import torch
from torch._guards import ShapeGuard, SLoc
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import (
    CallMethodKey,
    DivideByKey,
    ShapeEnv,
    free_unbacked_symbols,
    statically_known_true,
)
from torch.utils._sympy import functions as of_torch
from torch.utils._sympy.symbol import SymT, symbol_is_type
from torch.utils._sympy.value_ranges import ValueRanges

__all__ = [
    "BINARY",
    "CHAINS",
    "UNARY",
    "CallMethodKey",
    "DivideByKey",
    "add_guard",
    "as_number",
    "bound_new_symbol",
    "free_unbacked_symbols",
    "is_float",
    "named_symbol",
    "partial_sum",
    "statically_known_true",
]

# `CallMethodKey("size")` is a step of the path from a result to a symbol that the op has made.

BINARY: Final[dict[Any, Any]] = {
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.Lt: operator.lt,
    sympy.Le: operator.le,
    sympy.Gt: operator.gt,
    sympy.Ge: operator.ge,
    sympy.Pow: operator.pow,
    of_torch.PowByNatural: operator.pow,
    of_torch.FloatPow: operator.pow,
    of_torch.FloorDiv: operator.floordiv,
    of_torch.CleanDiv: operator.floordiv,
    of_torch.IntTrueDiv: operator.truediv,
    of_torch.FloatTrueDiv: operator.truediv,
    of_torch.Mod: operator.mod,
    of_torch.PythonMod: operator.mod,
    sympy.Mod: operator.mod,
    of_torch.LShift: operator.lshift,
    of_torch.RShift: operator.rshift,
    of_torch.BitwiseFn_bitwise_and: operator.and_,
    of_torch.BitwiseFn_bitwise_or: operator.or_,
}
"""The function of two numbers that computes an expression of each class."""

CHAINS: Final[dict[Any, Any]] = {
    sympy.Add: operator.add,
    sympy.Mul: operator.mul,
    sympy.And: operator.and_,
    sympy.Or: operator.or_,
    of_torch.Max: torch.sym_max,
    of_torch.Min: torch.sym_min,
    sympy.Max: torch.sym_max,
    sympy.Min: torch.sym_min,
}
"""The same for expressions of any number of operands, computed from the left."""

UNARY: Final[dict[Any, Any]] = {
    sympy.Not: torch.sym_not,
    of_torch.ToFloat: torch.sym_float,
    of_torch.TruncToInt: torch.sym_int,
    of_torch.OpaqueUnaryFn_sqrt: torch.sym_sqrt,
}
"""The same for functions of one number that programs of torch can save."""

FLOOR: Final = of_torch.FloorToInt
CEIL: Final = of_torch.CeilToInt
ROUND: Final = of_torch.RoundToInt
TRUNC: Final = of_torch.TruncToInt
WHERE: Final = of_torch.Where
TO_FLOAT: Final = of_torch.ToFloat


def add_guard(shape_env: ShapeEnv, e: Any) -> None:
    """Let a program of torch check a condition on its inputs, in every form of it."""
    place = SLoc(None, None)
    shape_env.guards.append(ShapeGuard(e, place, size_oblivious=False))


def named_symbol(shape_env: ShapeEnv, name: str, make: Any) -> Any:
    """The symbol that `make()` makes in `shape_env`, named `s_name`; torch tells kinds of symbols
    apart by the first letter, and numbers them otherwise.
    """
    taken = {str(s) for s in shape_env.var_to_range}
    unique, count = name, 1
    while f"s_{unique}" in taken or f"zf_{unique}" in taken:
        unique, count = f"{name}_{count}", count + 1
    shape_env._generate_unique_id = lambda _: f"_{unique}"  # type: ignore[method-assign,assignment,return-value]
    try:
        return make()
    finally:
        del shape_env._generate_unique_id


def bound_new_symbol(shape_env: ShapeEnv, symbol: Any, low: Any, high: Any) -> None:
    """Give a symbol that nothing has been asked about a range within the one that it has.

    `constrain_symbol_range` computes with both ranges and forgets all answers of `shape_env`, which
    takes as long as making the symbol.
    """
    shape_env.var_to_range[symbol] = ValueRanges(low, high)


def partial_sum(args: list[Any]) -> Any:
    """The sum of some terms of a sum, in time that does not grow with what a sum is checked for."""
    return sympy.Add._from_args(tuple(args))


def is_float(e: Any) -> bool:
    """Whether an expression that is no condition is a float."""
    if e.is_Symbol:
        return symbol_is_type(e, (SymT.FLOAT, SymT.UNBACKED_FLOAT))
    return not e.is_integer


def as_number(shape_env: ShapeEnv, e: Any) -> Any:
    """An expression as a symbolic number of torch, or as a plain one."""
    if e in (sympy.true, sympy.false):
        return bool(e)
    if isinstance(e, sympy.logic.boolalg.Boolean) and not e.is_Symbol:
        return torch.SymBool(SymNode(e, shape_env, bool, None))  # type: ignore[no-untyped-call]
    if e.is_number:
        return int(e) if e.is_integer else float(e)
    if is_float(e):
        return torch.SymFloat(SymNode(e, shape_env, float, None))  # type: ignore[no-untyped-call]
    return torch.SymInt(SymNode(e, shape_env, int, None))  # type: ignore[no-untyped-call]
