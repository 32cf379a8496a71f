"""Linear directions, and what is known of one.

The direction of an expression is its linear part divided by the gcd of its coefficients, with the
sign that makes its key positive:

    e = factor * direction + e.c

u - v, 2*v - 2*u + 5 and v - u have one direction, with the factors 1, -2 and -1. A bound on one of
them is a bound on all, so facts on sums are kept by the key of the direction.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain import INF, NINF
from anyshape.env.limit import MATERIALIZE
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


def direction_of(e: Expr) -> tuple[int, int]:
    """The key of the direction of `e`, and the factor.

    The terms of a long pending sum stay unmade: its factor is what it was scaled by.
    """
    factor = 1
    parts = e.parts
    if e.width <= MATERIALIZE or type(parts) is dict:
        factor = content(terms(e).values())
    else:
        while type(parts) is tuple and len(parts) < 3:
            if len(parts) == 2:
                factor *= abs(parts[1])
            parts = parts[0].parts
    key = e.linear_key
    if key < 0:
        factor = -factor
    return key // factor, factor
