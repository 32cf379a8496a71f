"""Ops that stay opaque: bitwise ops, choice by a condition, rounding of a real.

Their atoms carry bounds, fold constants and obey the few identities written here; nothing else is
known of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr import boolean
from anyshape.expr.atom import intern_atom
from anyshape.expr.division import divide_exactly, floordiv
from anyshape.expr.op import BIT_AND, BIT_OR, BIT_XOR, CEIL, CHOICE, FLOOR, ROUND, TRUNC, Op
from anyshape.expr.product import multiply, power
from anyshape.expr.terms import content, terms

if TYPE_CHECKING:
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Expr
    from anyshape.expr.real import Real


def bit_and(x: Expr, y: Expr) -> Expr:
    """Return `x & y`: x & 0 = 0, x & -1 = x, x & x = x."""
    return _bitwise(BIT_AND, x, y, zero=0, ones=None, same=None)


def bit_or(x: Expr, y: Expr) -> Expr:
    """Return `x | y`: x | 0 = x, x | -1 = -1, x | x = x."""
    return _bitwise(BIT_OR, x, y, zero=None, ones=-1, same=None)


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
        return pool.const(op.evaluate((x.c, y.c), ()))
    if x.is_const:
        x, y = y, x
    if y.is_const and y.c in (0, -1):
        result = zero if y.c == 0 else ones
        return x if result is None else pool.const(result)
    if x is y:
        return x if same is None else pool.const(same)
    if y.key < x.key:
        x, y = y, x
    return intern_atom(pool, op, (x, y)).node


def left_shift(x: Expr, count: Expr) -> Expr:
    """Return `x << count` for a count that is not negative: x * 2**count."""
    return multiply(x, power(x.pool.const(2), count))


def right_shift(x: Expr, count: Expr) -> Expr:
    """Return `x >> count` for a count that is not negative: x // 2**count."""
    return floordiv(x, power(x.pool.const(2), count))


def choose(condition: Bool, then: Expr, otherwise: Expr) -> Expr:
    """`then` where the condition holds, else `otherwise`.

    The atom is choice(c, e) = e if c else 0, with content and sign of e taken out, and the
    condition in the polarity made first: choose(not c, e, 0) = e - choose(c, e, 0).
    """
    pool = condition.pool
    if condition.op in (boolean.TRUE, boolean.FALSE):
        return then if condition.op == boolean.TRUE else otherwise
    difference = then - otherwise
    if difference.is_const and difference.c == 0:
        return then
    opposite = boolean.negate(condition)
    if opposite.index < condition.index:
        return choose(opposite, otherwise, then)
    g = content((*terms(difference).values(), difference.c))
    if difference.key < 0:
        g = -g
    atom = intern_atom(pool, CHOICE, (condition, divide_exactly(difference, g)))
    return otherwise + atom.node.scale(g)


def floor(x: Real) -> Expr:
    """The largest integer not above `x`."""
    return _round(FLOOR, x)


def ceil(x: Real) -> Expr:
    """The smallest integer not below `x`."""
    return _round(CEIL, x)


def nearest(x: Real) -> Expr:
    """Python's `round(x)`."""
    return _round(ROUND, x)


def trunc(x: Real) -> Expr:
    """The integer part of `x`."""
    return _round(TRUNC, x)


def _round(op: Op, x: Real) -> Expr:
    if x.op == "const":
        return x.pool.const(op.evaluate((x.args[0],), ()))
    return intern_atom(x.pool, op, (x,)).node
