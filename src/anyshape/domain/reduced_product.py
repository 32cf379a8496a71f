"""The reduced product of intervals and congruences: each sharpens the other.

Both describe the same unknown integer, so the truth is their intersection.  An end of the interval
that is not a member of the congruence can move inward to the nearest one.
"""

from anyshape.domain.bound import Bound, lower, upper
from anyshape.domain.congruence import Congruence
from anyshape.domain.interval import Interval, point


def tighten(interval: Interval, congruence: Congruence) -> Interval | None:
    """Return the hull of the members that both have, None if there are none.

    >>> tighten(Interval(1, 10), Congruence(4, 3))
    Interval(lo=3, hi=7)
    """
    modulus, residue = congruence
    if modulus == 1:
        return interval
    if modulus == 0:
        return interval.intersect(point(residue)) if interval.contains(residue) else None
    lo: Bound
    hi: Bound
    lo, hi = interval
    if not isinstance(lo, float):
        lo += (residue - lo) % modulus
    if not isinstance(hi, float):
        hi -= (hi - residue) % modulus
    return Interval(lower(lo), upper(hi)) if lo <= hi else None
