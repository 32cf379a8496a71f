"""Floor division and modulo, with Python's signs.

`x % y` is `x - y * (x // y)`, so that identities between quotient and remainder need no rule. The
constructors use only identities that hold for every non-zero divisor:

    (x + k*d) // d       = k + x // d                 constant d, each coefficient split by d
    (g*x) // (g*y)       = x // y                     constant g != 0
    (x // a + c) // b    = (x + a*c) // (a*b)         constants a, b > 0, a*b < LARGEST_DIVISOR
    x // d               = -((d - 1 - x) // d)        constant d > 0; picks one spelling of two

Cancelling a symbolic factor needs the proof that it is not zero: the environment does that.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.domain.interval import Interval
from anyshape.expr.atom import intern_atom, within
from anyshape.expr.constructor.product import multiply
from anyshape.expr.order import is_negative
from anyshape.expr.table.op import FLOORDIV
from anyshape.expr.table.row import builds
from anyshape.expr.terms import add_into, content, from_terms, terms

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr
    from anyshape.expr.pool import Pool

LARGEST_DIVISOR: Final = 1 << 128


@builds(FLOORDIV)
def floordiv(x: Expr, y: Expr) -> Expr:
    """Return `x // y`; a constant zero divisor raises ZeroDivisionError."""
    if y.is_const:
        return floordiv_const(x, y.c)
    if x is y:
        return x.pool.const(1)
    if x.is_const and x.c == 0:
        return x
    g = gcd(content(terms(x).values()), content(terms(y).values()), x.c, y.c)
    if is_negative(y):
        g = -g
    if g != 1:
        x, y = divide_exactly(x, g), divide_exactly(y, g)
    return intern_atom(x.pool, FLOORDIV, (x, y)).node


def divide_exactly(e: Expr, d: int) -> Expr:
    """Return `e / d` where `d` divides every coefficient and the constant."""
    return from_terms(e.pool, {a: k // d for a, k in terms(e).items()}, e.c // d)


def modulo(x: Expr, y: Expr) -> Expr:
    """Return `x % y`."""
    remainder = x - multiply(y, floordiv(x, y))
    return within(remainder, Interval(x.lo, x.hi).mod(Interval(y.lo, y.hi)))


def floordiv_const(x: Expr, d: int) -> Expr:
    """Return `x // d` for a constant divisor."""
    if d < 0:
        x, d = -x, -d
    if d == 0:
        raise ZeroDivisionError("division of a symbolic integer by zero")
    if d == 1:
        return x
    if x.width == 1 and not x.c:
        ((atom, k),) = terms(x).items()
        if k == 1 and atom.op is not FLOORDIV:  # nothing to take out
            return intern_atom(x.pool, FLOORDIV, (x, x.pool.const(d))).node
    range_ = Interval(x.lo, x.hi).floordiv(Interval(d, d))
    whole: dict[Atom, int] = {}
    rest: dict[Atom, int] = {}
    for atom, k in terms(x).items():
        quotient, remainder = divmod(k, d)
        if quotient:
            whole[atom] = quotient
        if remainder:
            rest[atom] = remainder
    c, rest_c = divmod(x.c, d)
    pool = x.pool
    if not rest:
        return from_terms(pool, whole, c)
    g = gcd(d, *rest.values())
    if g != 1:
        rest = {a: k // g for a, k in rest.items()}
        rest_c, d = rest_c // g, d // g
    flipped, rest, rest_c = _one_spelling(rest, rest_c, d)
    fraction = _quotient(pool, rest, rest_c, d)
    sign = 1
    if flipped:  # rest // d = sum of its atoms - flipped rest // d
        add_into(whole, dict.fromkeys(rest, 1), 1)
        sign = -1
    add_into(whole, terms(fraction), sign)
    return within(from_terms(pool, whole, c + sign * fraction.c), range_)


def _quotient(pool: Pool, rest: dict[Atom, int], rest_c: int, d: int) -> Expr:
    """`(rest + rest_c) // d`, where nothing can be taken out; one division for a nested one."""
    if len(rest) == 1:
        ((atom, k),) = rest.items()
        if k == 1 and atom.op is FLOORDIV:
            inner, divisor = atom.exprs
            if divisor.is_const and divisor.c * d < LARGEST_DIVISOR:
                return floordiv_const(inner.shift(divisor.c * rest_c), divisor.c * d)
    return intern_atom(pool, FLOORDIV, (from_terms(pool, rest, rest_c), pool.const(d))).node


def _one_spelling(rest: dict[Atom, int], rest_c: int, d: int) -> tuple[bool, dict[Atom, int], int]:
    """Of r//d and its mirror (d - 1 - r)//d, coefficients in (0, d), the smaller one."""
    order = sorted(rest, key=lambda a: a.index)
    here = [rest[a] for a in order], rest_c
    there = [d - rest[a] for a in order], d - 1 - rest_c
    if there < here:
        return True, {a: d - k for a, k in rest.items()}, d - 1 - rest_c
    return False, rest, rest_c
