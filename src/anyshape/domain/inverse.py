"""Backward steps of constraint propagation: what an operand can be, given the result.

Each function returns an interval that holds every solution, or None where there is none at all.
"""

from typing import Final

from anyshape.domain.bound import INF, Bound, ceil_div, floor_div, lower, times, upper
from anyshape.domain.interval import EVERYTHING, POSITIVE, Interval

SEARCH_STEPS: Final = 8


def inverse_mul(product: Interval, factor: Interval) -> Interval | None:
    """Return the hull of all x such that `x * y` is in `product` for some y in `factor`.

    Tight for a single factor, and where each end is found within `SEARCH_STEPS` steps.  In general
    the exact end is a divisor search (x * y == n), so a few infeasible x may remain at an end.

    >>> inverse_mul(Interval(7, 12), Interval(5, 6))
    Interval(lo=2, hi=2)
    """
    if product.contains(0) and factor.contains(0):
        return EVERYTHING
    above = factor.intersect(POSITIVE)
    below = factor.neg().intersect(POSITIVE)
    solutions = _solutions(product, above) if above else None
    mirrored = _solutions(product.neg(), below) if below else None
    if solutions is None or mirrored is None:
        return solutions or mirrored
    return solutions.hull(mirrored)


def inverse_floordiv(quotient: Interval, divisor: int) -> Interval:
    """Return all x such that `x // divisor` is in `quotient`, for a positive divisor.

    Exact, and never empty.
    """
    lo, hi = quotient
    return Interval(lower(times(lo, divisor)), upper(times(hi + 1, divisor) - 1))


def _solutions(product: Interval, factor: Interval) -> Interval | None:
    """Return the x with `x * y` in `product`, for positive factors y."""
    lo, hi = product
    if lo > 0:
        return _positive_solutions(product, factor)
    if hi < 0:
        mirrored = _positive_solutions(product.neg(), factor)
        return mirrored.neg() if mirrored else None
    least = factor.lo
    assert not isinstance(least, float)
    return Interval(lower(ceil_div(lo, least)), upper(floor_div(hi, least)))


def _positive_solutions(product: Interval, factor: Interval) -> Interval | None:
    """Return the x with `x * y` in `product`, where all three are positive."""
    lo = _least_solution(product, factor)
    hi = _greatest_solution(product, factor)
    if lo is None or hi is None or lo > hi:
        return None
    return Interval(lower(lo), upper(hi))


def _least_solution(product: Interval, factor: Interval) -> Bound | None:
    """Raise x from `lo / greatest y`, each time to the least x for the greatest y it allows."""
    lo, hi = product
    assert not isinstance(lo, float)
    x = 1 if isinstance(factor.hi, float) else -(-lo // factor.hi)
    for _ in range(SEARCH_STEPS):
        y = min(factor.hi, floor_div(hi, x))
        if y < factor.lo:
            return None
        if isinstance(y, float) or x * y >= lo:
            break
        x = -(-lo // y)
    return x


def _greatest_solution(product: Interval, factor: Interval) -> Bound | None:
    """Lower x from `hi / least y`, each time to the greatest x for the least y it allows."""
    lo, hi = product
    least = factor.lo
    assert not isinstance(lo, float)
    assert not isinstance(least, float)
    if isinstance(hi, float):
        return INF
    if hi < least:
        return None
    x = hi // least
    for _ in range(SEARCH_STEPS):
        y = max(least, -(-lo // x))
        if y > factor.hi:
            return None
        if x * y <= hi:
            break
        x = hi // y
    return x
