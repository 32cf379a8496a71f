"""Expressions computed with torch's functions on symbolic numbers.

`emit(function, *args)` is called for each step. It either computes the result, on symbolic numbers
of torch, or adds a node for the call to a graph.
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.expr.evaluate import Interpreter
from anyshape.expr.table.op import CHOICE, COMPARE, FLOORDIV, GROUP, MAXIMUM, POWER, PRODUCT
from anyshape.expr.table.op_condition import AND, EQ, GE, NE, NOT, OR, REAL
from anyshape.expr.table.op_integer import BIT_COUNT, BIT_LENGTH, INT_ROUND, POWER_MOD
from anyshape.expr.table.op_real import FLOAT, REAL_MAX, REAL_MIN, SQRT
from anyshape.symbolic.sym_int import SymInt

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.expr.table.row import Op

    Emit = Callable[..., Any]

LONG_SUM: Final = 100


def interpreter(
    symbol: Callable[[str], Any],
    emit: Emit,
    sum_of: Callable[[list[tuple[int, Any]], int], Any] | None = None,
) -> Interpreter:
    """An interpreter of expressions; `symbol` has the value of each symbol by its name.

    `sum_of(addends, c)` is the sum c + k*x + ... of pairs (k, x), where not the steps of it.
    """

    def apply(op: Op, *operands: Any) -> Any:
        special = _SPECIAL.get(op)
        return emit(op.value, *operands) if special is None else special(emit, *operands)

    def total(addends: list[tuple[int, Any]], c: int) -> Any:
        parts = [x if k == 1 else emit(operator.mul, k, x) for k, x in addends]
        if c or not parts:
            parts.append(c)
        if len(addends) > LONG_SUM:
            return emit(torch.sym_sum, parts)
        return reduce(lambda x, y: emit(operator.add, x, y), parts)

    return Interpreter(symbol, apply, total if sum_of is None else sum_of)


def compute(function: Any, *args: Any) -> Any:
    """The `emit` that computes the result."""
    return function(*args)


def _pairwise(function: Any, *start: Any) -> Callable[..., Any]:
    def apply(emit: Emit, *operands: Any) -> Any:
        return reduce(lambda x, y: emit(function, x, y), (*start, *operands))

    return apply


def _product(emit: Emit, *operands: Any) -> Any:
    """The first half of the operands to the powers in the second half."""
    half = len(operands) // 2
    factors = [
        base if exponent == 1 else emit(operator.pow, base, exponent)
        for base, exponent in zip(operands[:half], operands[half:], strict=True)
    ]
    return reduce(lambda x, y: emit(operator.mul, x, y), factors)


def _floordiv(emit: Emit, x: Any, y: Any) -> Any:
    if type(y) is int and y < 0:  # torch's engine folds quotients by negative numbers wrongly
        x, y = emit(operator.neg, x), -y
    return emit(operator.floordiv, x, y)


def _with_zero(function: Any) -> Callable[..., Any]:
    return lambda emit, x: emit(function, x, 0)


def _choice(emit: Emit, condition: Any, x: Any) -> Any:
    """`x` or 0, which must be as symbolic as `x` for torch."""
    return emit(torch.sym_ite, condition, x, emit(operator.mul, x, 0))


# Functions that torch's symbolic integers lack: computed on a concrete value, which torch guards.
# Ours, of a trace that calls the module of another program, have them.


def _known(n: Any) -> Any:
    return n if type(n) is SymInt else int(n)


def bit_length(n: Any) -> Any:
    """`n.bit_length()`."""
    return _known(n).bit_length()


def bit_count(n: Any) -> Any:
    """`n.bit_count()`."""
    return _known(n).bit_count()


def power_mod(base: Any, exponent: Any, modulus: Any) -> Any:
    """`pow(base, exponent, modulus)`."""
    return pow(_known(base), _known(exponent), _known(modulus))


def round_integer(n: Any, digits: Any) -> Any:
    """`round(n, digits)`, whose digits torch's class ignores."""
    return round(_known(n), _known(digits))


def _call(function: Any) -> Callable[..., Any]:
    return lambda emit, *operands: emit(function, *operands)


# The ops for which torch has another function than Python.
_SPECIAL: Final[dict[Op, Callable[..., Any]]] = {
    PRODUCT: _product,
    POWER: _call(operator.pow),
    BIT_LENGTH: _call(bit_length),
    BIT_COUNT: _call(bit_count),
    POWER_MOD: _call(power_mod),
    INT_ROUND: _call(round_integer),
    FLOORDIV: _floordiv,
    GROUP: lambda _emit, x: x,
    MAXIMUM: _pairwise(torch.sym_max, 0),
    REAL_MAX: _pairwise(torch.sym_max),
    REAL_MIN: _pairwise(torch.sym_min),
    CHOICE: _choice,
    FLOAT: _call(torch.sym_float),
    GE: _with_zero(operator.ge),
    EQ: _with_zero(operator.eq),
    NE: _with_zero(operator.ne),
    SQRT: _call(torch.sym_sqrt),
    NOT: _call(torch.sym_not),
    AND: _pairwise(operator.and_),
    OR: _pairwise(operator.or_),
    REAL: lambda emit, x, y, sign: emit(COMPARE[sign], x, y),
}
