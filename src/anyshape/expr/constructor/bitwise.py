"""Bitwise ops, and shifts as products and quotients with a power of two.

The atoms carry bounds, fold constants and obey the identities written here; nothing else is known
of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr.atom import intern_atom
from anyshape.expr.constructor.division import floordiv
from anyshape.expr.constructor.product import multiply, power
from anyshape.expr.order import compare
from anyshape.expr.table.op import BIT_AND, BIT_OR, BIT_XOR
from anyshape.expr.table.row import Op, builds

if TYPE_CHECKING:
    from anyshape.expr.node import Expr


@builds(BIT_AND)
def bit_and(x: Expr, y: Expr) -> Expr:
    """Return `x & y`: x & 0 = 0, x & -1 = x, x & x = x."""
    return _bitwise(BIT_AND, x, y, zero=0, ones=None, same=None)


@builds(BIT_OR)
def bit_or(x: Expr, y: Expr) -> Expr:
    """Return `x | y`: x | 0 = x, x | -1 = -1, x | x = x."""
    return _bitwise(BIT_OR, x, y, zero=None, ones=-1, same=None)


@builds(BIT_XOR)
def bit_xor(x: Expr, y: Expr) -> Expr:
    """Return `x ^ y`: x ^ 0 = x, x ^ -1 = -x - 1, x ^ x = 0."""
    if y.is_const and y.c == -1:
        return -x.shift(1)
    if x.is_const and x.c == -1:
        return -y.shift(1)
    return _bitwise(BIT_XOR, x, y, zero=None, ones=None, same=0)


def _bitwise(
    op: Op, x: Expr, y: Expr, *, zero: int | None, ones: int | None, same: int | None
) -> Expr:
    """Fold `x op y`; `zero`, `ones`, `same`: the results for 0, -1, equal operands, None for x."""
    pool = x.pool
    if x.is_const and y.is_const:
        return pool.const(op.value(x.c, y.c))
    if x.is_const:
        x, y = y, x
    if y.is_const and y.c in (0, -1):
        result = zero if y.c == 0 else ones
        return x if result is None else pool.const(result)
    if x is y:
        return x if same is None else pool.const(same)
    if (compare(x, y) or x.c - y.c) > 0:
        x, y = y, x
    return intern_atom(pool, op, (x, y)).node


def left_shift(x: Expr, count: Expr) -> Expr:
    """Return `x << count` for a count that is not negative: x * 2**count."""
    return multiply(x, power(x.pool.const(2), count))


def right_shift(x: Expr, count: Expr) -> Expr:
    """Return `x >> count` for a count that is not negative: x // 2**count."""
    return floordiv(x, power(x.pool.const(2), count))
