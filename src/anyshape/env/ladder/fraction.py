"""Reals that are fractions of integers, and their rounding as integer division.

While integers are exact as floats, `n * 0.5`, `(h - k) / 2.0` and `n / 3` are fractions x / d,
computed without error or rounded once, so rounding them is division of integers:

    floor(x / d)    x // d
    ceil(x / d)     -(-x // d)
    trunc(x / d)    one of both, by the sign of x
    round(x / d)    (2*x + d) // (2*d) for an odd d; for an even d = 2*h, where ties go to even,
                    (x + h) // d - (x - h) // (2*d) + (x - h - 1) // (2*d)

An operand x must be below 2**53, and for `round` below 2**52: closer to a tie than a fraction that
is none there are no floats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from anyshape.domain import Interval
from anyshape.expr.atom import within
from anyshape.expr.constructor.division import floordiv_const
from anyshape.expr.table.op import CEIL, FLOOR, TRUNC
from anyshape.expr.table.op_real import ADD, CONST, DIV, FLOAT, MUL, NEG, RATIO, SUB
from anyshape.expr.terms import refresh

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.real import Real

    Fraction = tuple[Expr, int]

EXACT: Final = 1 << 53
DEEPEST: Final = 8  # operations in a real that is looked at
FINEST: Final = 1 << 60  # the largest denominator


def round_fraction(atom: Atom, r: Real) -> Expr | None:
    """The rounding `atom` of `r` as a division of integers; None where it is none."""
    found = _fraction(r)
    if found is None:
        return None
    x, d = found
    if d == 1:
        return x
    down, up = floordiv_const(x, d), -floordiv_const(-x, d)
    if atom.op is FLOOR:
        return down
    if atom.op is CEIL:
        return up
    if atom.op is TRUNC:
        return down if x.lo >= 0 else up if x.hi <= 0 else None
    if 2 * max(abs(x.lo), abs(x.hi)) >= EXACT:
        return None
    return within(_nearest(x, d), Interval(atom.lo, atom.hi))


def _nearest(x: Expr, d: int) -> Expr:
    if d % 2:
        return floordiv_const(x.scale(2).shift(d), 2 * d)
    h = d // 2
    tie = floordiv_const(x.shift(-h), 2 * d) - floordiv_const(x.shift(-h - 1), 2 * d)
    return floordiv_const(x.shift(h), d) - tie


def _fraction(r: Real) -> Fraction | None:
    """`x, d` if the value of `r` is the double nearest to x / d."""
    exact = _dyadic(r, DEEPEST)
    if exact is not None:
        return exact
    if r.op is RATIO:
        x, y = r.args
        return (x, y.c) if y.is_const and 0 < y.c < EXACT and _is_small(x) else None
    if r.op is not DIV or not r.args[1].constant:
        return None
    top, bottom = _dyadic(r.args[0], DEEPEST), _dyadic(r.args[1], 0)
    if top is None or bottom is None or bottom[0].c < 0:
        return None
    scale = math.gcd(top[1], bottom[1])
    x, d = top[0].scale(bottom[1] // scale), top[1] // scale * bottom[0].c
    return (x, d) if d < EXACT and _is_small(x) else None


def _dyadic(r: Real, depth: int) -> Fraction | None:
    """`x, d` if the value of `r` is x / d exactly, d a power of 2, with no rounding on the way."""
    op = r.op
    if op is CONST:
        value = r.args[0]
        top, bottom = value.as_integer_ratio() if math.isfinite(value) else (0, 0)
        return (r.pool.const(top), bottom) if 0 < bottom <= FINEST and abs(top) < EXACT else None
    if op is FLOAT or op is RATIO:
        x, d = r.args[0], r.args[1] if op is RATIO else r.pool.const(1)
        power_of_2 = d.is_const and 0 < d.c <= FINEST and not d.c & (d.c - 1)
        return (x, d.c) if power_of_2 and _is_small(x) else None
    if op not in (ADD, SUB, MUL, DIV, NEG) or not depth:
        return None
    parts = [_dyadic(part, depth - 1) for part in r.args]
    made = None if None in parts else _combined(r, parts)  # type: ignore[arg-type]
    return made if made is not None and made[1] <= FINEST and _is_small(made[0]) else None


def _combined(r: Real, parts: list[Fraction]) -> Fraction | None:
    (x, d), (y, e) = parts[0], parts[-1]
    if r.op is NEG:
        return -x, d
    if r.op in (ADD, SUB):
        common = max(d, e)
        left, right = x.scale(common // d), y.scale(common // e)
        return (left + right if r.op is ADD else left - right), common
    if r.op is MUL:
        if x.is_const:
            x, y = y, x
        return (x.scale(y.c), d * e) if y.is_const else None
    if not y.is_const or y.c <= 0 or y.c & (y.c - 1):
        return None
    scale = math.gcd(e, d * y.c)
    return x.scale(e // scale), d * y.c // scale


def _is_small(x: Expr) -> bool:
    refresh(x)
    return x.lo > -EXACT and x.hi < EXACT
