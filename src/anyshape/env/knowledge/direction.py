"""Linear directions, and what is known of one.

The direction of an expression is its linear part divided by the gcd of its coefficients, with the
sign that makes its leading coefficient positive:

    e = factor * direction + e.c

u - v, 2*v - 2*u + 5 and v - u have one direction, with the factors 1, -2 and -1. A bound on one of
them is a bound on all, so facts on sums are kept by direction.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain import INF, NINF
from anyshape.env.knowledge.limit import MATERIALIZE
from anyshape.expr.constructor.division import divide_exactly
from anyshape.expr.order import is_negative, linear_part
from anyshape.expr.terms import content, terms

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
    """The direction of `e`, and the factor.

    The terms of a long pending sum stay unmade: its factor is what it was scaled by.
    """
    pool = e.pool
    if e.terms is None and e.width > MATERIALIZE:
        known = pool.pending_directions.get(e)
        if known is None:
            pool.pending_directions[e] = known = _of_pending(e)
        return known
    known = pool.directions.get(e)
    if known is not None:
        return known
    linear = linear_part(e)
    sign = -1 if is_negative(linear) else 1
    factor = sign * content(terms(e).values())
    direction = linear.scale(sign) if factor == sign else divide_exactly(linear, factor)
    pool.directions[e] = known = (direction, factor)
    return known


def _of_pending(e: Expr) -> tuple[Expr, int]:
    factor = 1
    while e.terms is None:
        if e.left is None:
            assert e.right is not None
            factor *= e.times
            e = e.right
        elif e.right is None:
            e = e.left
        else:
            break
    linear = linear_part(e)
    return (-linear, -factor) if is_negative(linear) else (linear, factor)
