"""Linear directions, and what is known of one.

The direction of an expression is its linear part divided by the gcd of its coefficients, up to the
sign:

    e = factor * direction + e.c

u - v, 2*v - 2*u + 5 and v - u have one direction, with the factors 1, -2 and -1. A bound on one of
them is a bound on all, so facts on sums are kept by direction.

Of a sum and its negation, the direction is the one that was asked for first while the other did not
exist, else the one with a positive leading coefficient; so a new sum costs no second node. An atom
is its own direction. Nothing may depend on the sign beside the factor.
"""

from __future__ import annotations

from math import gcd
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain import INF, NINF
from anyshape.env.knowledge.limit import MATERIALIZE
from anyshape.expr.constructor.division import divide_exactly
from anyshape.expr.order import is_negative, leading, linear_part
from anyshape.expr.terms import are_apart, content, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.domain import Bound
    from anyshape.env.fact import Fact
    from anyshape.expr import Expr


class Direction(NamedTuple):
    """The range of a direction, and the facts behind its two ends."""

    lo: Bound
    hi: Bound
    low_fact: Fact | None
    high_fact: Fact | None


UNKNOWN_DIRECTION: Final = Direction(NINF, INF, None, None)
NO_HOLES: Final[Mapping[int, bool]] = MappingProxyType({})


def direction_of(e: Expr) -> tuple[Expr, int]:
    """The direction of `e`, and the factor; the same whether its terms were collected or not."""
    pool = e.pool
    known = pool.directions.get(e)
    if known is None:
        known = _of_pending(e) if e.terms is None and e.width > MATERIALIZE else _of_terms(e)
        pool.directions[e] = known
    return known


def _of_terms(e: Expr) -> tuple[Expr, int]:
    if e.is_const:
        return e.pool.zero, 0
    factor = content(terms(e).values())
    linear = linear_part(e)
    return _signed(linear if factor == 1 else divide_exactly(linear, factor), factor)


def _signed(linear: Expr, factor: int) -> tuple[Expr, int]:
    """The direction and the factor of `factor * linear`, whose coefficients are coprime."""
    pool = linear.pool
    known = pool.directions.get(linear)
    if known is None:
        known = linear, 1
        if -linear.key in pool.nodes:
            opposite = -linear
            of_opposite = pool.directions.get(opposite)
            if of_opposite is not None:
                known = of_opposite[0], -of_opposite[1]
            elif is_negative(linear):
                known = opposite, -1
                pool.directions[opposite] = opposite, 1
        pool.directions[linear] = known
    return known if factor == 1 else (known[0], known[1] * factor)


def _of_pending(e: Expr) -> tuple[Expr, int]:
    """The direction of a long pending sum, without its terms where that is possible.

    Let m be the leading coefficient of x + k*y, and g the gcd of the factors of x and of k*y. All
    coefficients are multiples of g, and have no other common divisors if x and y share no atoms, or
    if m is 1 or g.
    """
    if leading(e) in (1, -1):
        return _signed(e.shift(-e.c) if e.c else e, 1)
    directions = e.pool.directions
    stack = [e]
    while stack:
        node = stack[-1]
        operands = [x for x in (node.left, node.right) if x is not None]
        behind = [x for x in operands if x.terms is None and x not in directions]
        if behind:
            stack.extend(behind)
        else:
            stack.pop()
            directions[node] = _of_operands(node)
    return directions[e]


def _of_operands(e: Expr) -> tuple[Expr, int]:
    """The direction of a sum, given those of its pending operands."""
    left, right = e.left, e.right
    first = leading(e)
    if e.terms is not None or not first:
        return _of_terms(e)
    if abs(first) == 1:
        return _signed(linear_part(e), 1)
    zero = (e.pool.zero, 0)
    of_left, m = zero if left is None else direction_of(left)
    of_right, n = zero if right is None else direction_of(right)
    n *= e.times if right is not None else 1
    factor = gcd(m, n)
    if abs(first) != factor and not are_apart(left, right):
        return _of_terms(e)
    if factor == 1:
        return _signed(linear_part(e), 1)
    return _signed(of_left.scale(m // factor) + of_right.scale(n // factor), factor)
