"""Comparisons of numbers, which Python makes exactly: an integer is never rounded to a float.

    e sign c           for a constant float c: a relation of e with floor(c) or ceil(c)
    float(e) sign c    the same for |c| < 2**53, where rounding cannot step over c, and c = inf, nan
    e / d sign 0       the sign of e for a constant d > 0; so is float(e) * c for c >= SMALLEST

Everything else is a `Bool` with the op REAL, whose operands are integers and reals as they came.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from anyshape.expr.boolean import constant, eq0, ge0, make_comparison, ne0
from anyshape.expr.node import MAGNITUDE_BITS, Expr
from anyshape.expr.real import Real, real_const
from anyshape.expr.table.op import COMPARE
from anyshape.expr.table.op_condition import REAL
from anyshape.expr.table.op_real import DIV, FLOAT, MUL, RATIO
from anyshape.expr.table.row import builds

if TYPE_CHECKING:
    from anyshape.expr.boolean import Bool

EXACT: Final = 2.0**53
SMALLEST: Final = 2.0**-900  # a product with it is 0 only for 0
_LARGEST: Final = 2.0 ** (MAGNITUDE_BITS - 2)
_MIRROR: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(sign: str, left: Expr | Real, right: Expr | Real) -> Bool:
    """The condition `left sign right`, `sign` one of == != < <= > >=."""
    if type(left) is Expr and type(right) is Expr:
        return _compare_integers(sign, left, right)
    left, right = _plain(left), _plain(right)
    if type(left) is Real and left.constant is not None:
        sign, left, right = _MIRROR[sign], right, left
    if type(right) is Real and right.constant is not None:
        made = _compare_constant(sign, left, right.constant)
        if made is not None:
            return made
    if sign in (">", ">="):
        sign, left, right = _MIRROR[sign], right, left
    return make_comparison(sign, left, right)


@builds(REAL)
def _compare(left: Expr | Real, right: Expr | Real, sign: str) -> Bool:
    return compare(sign, left, right)


def equals(r: Real, value: float) -> Bool:
    """Whether a real has this value; NaN, which equals nothing, is what differs from itself."""
    if math.isnan(value):
        return compare("!=", r, r)
    return compare("==", r, real_const(r.pool, value))


def _plain(x: Expr | Real) -> Expr | Real:
    """A constant integer that is a float as that float, so that there is one form of it."""
    if type(x) is Expr and x.is_const and float(x.c) == x.c:
        return real_const(x.pool, float(x.c))
    return x


def _compare_integers(sign: str, left: Expr, right: Expr) -> Bool:
    if sign == "==":
        return eq0(left - right)
    if sign == "!=":
        return ne0(left - right)
    if sign in ("<", ">"):
        left, right = (left, right) if sign == "<" else (right, left)
        return ge0((right - left).shift(-1))
    return ge0(right - left if sign == "<=" else left - right)


def _compare_constant(sign: str, left: Expr | Real, c: float) -> Bool | None:
    """`left sign c`, where that is a constant or a relation of integers; else None."""
    pool = left.pool
    if type(left) is Real and left.constant is not None:
        return constant(pool, COMPARE[sign](left.constant, c))
    e = left if type(left) is Expr else _integer_behind(left, c)  # type: ignore[arg-type]
    if e is None:
        return None
    if not math.isfinite(c):
        return constant(pool, COMPARE[sign](0, c))
    if abs(c) > _LARGEST:
        return None
    if sign in ("==", "!="):
        if not c.is_integer():
            return constant(pool, sign == "!=")
        return (eq0 if sign == "==" else ne0)(e.shift(-int(c)))
    if sign in ("<", "<="):
        return ge0((-e).shift(math.floor(c) if sign == "<=" else math.ceil(c) - 1))
    return ge0(e.shift(-math.ceil(c) if sign == ">=" else -math.floor(c) - 1))


def _integer_behind(r: Real, c: float) -> Expr | None:
    """An integer that compares with `c` as `r` does wherever `r` has a value; None without one."""
    if r.op is FLOAT:
        return None if EXACT <= abs(c) < math.inf else r.args[0]
    if c != 0:
        return None
    if r.op is RATIO:
        x, d = r.args
        return x if d.is_const and d.c > 0 else None
    if r.op in (MUL, DIV):
        x, y = r.args
        if r.op is MUL and x.constant is not None:
            x, y = y, x
        k = y.constant
        if x.op is FLOAT and k is not None and SMALLEST <= k <= 1 / SMALLEST:
            return x.args[0]  # type: ignore[no-any-return]
    return None
