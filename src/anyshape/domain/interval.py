"""Intervals of integers and the images of Python's integer operations on them.

Invariant of `Interval(lo, hi)`: `lo <= hi`, `lo < INF`, `hi > NINF`; the set is never empty.

Every method is sound: it returns a superset of all results of the operation on members.  It is
also tight, the smallest interval with that property, unless its docstring says otherwise or an end
passes `LIMIT`.  Ends past `LIMIT` are accepted everywhere; computed ends never pass it.

Members for which an operation is undefined (division by zero, a negative shift count or exponent)
are left out; where nothing is left, the answer is `EVERYTHING`.

Nothing here knows about expressions, and two operands are always independent: `x.sub(x)` is not 0.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from anyshape.domain.bitwise import and_range, or_range, xor_range
from anyshape.domain.bound import (
    INF,
    NINF,
    Bound,
    lower,
    saturating_power,
    times,
    upper,
)

# The Python-level constructor of a NamedTuple takes longer than the arithmetic on its ends.
_new: Final = tuple.__new__


class Interval(NamedTuple):
    """The set of integers n with `lo <= n <= hi`, never empty.

    >>> Interval(2, 5).mul(Interval(-1, 3))
    Interval(lo=-5, hi=15)
    """

    lo: Bound
    hi: Bound

    @property
    def is_point(self) -> bool:
        """Whether there is exactly one member."""
        return self.lo == self.hi

    @property
    def words(self) -> str:
        """The interval for a reader.

        >>> [NATURAL.words, Interval(NINF, 3).words, Interval(2, 5).words, EVERYTHING.words]
        ['at least 0', 'at most 3', '2 to 5', 'any']
        """
        lo, hi = self
        if hi == INF:
            return "any" if lo == NINF else f"at least {lo}"
        return f"at most {hi}" if lo == NINF else f"{lo} to {hi}"

    def contains(self, number: int) -> bool:
        """Return whether `number` is a member."""
        return self.lo <= number <= self.hi

    def intersect(self, other: Interval) -> Interval | None:
        """Return the common members, None if there are none."""
        a, b = self
        c, d = other
        lo = a if a >= c else c
        hi = b if b <= d else d
        return _new(Interval, (lo, hi)) if lo <= hi else None

    def hull(self, other: Interval) -> Interval:
        """Return the smallest interval that holds the members of both."""
        a, b = self
        c, d = other
        return _new(Interval, (a if a <= c else c, b if b >= d else d))

    def neg(self) -> Interval:
        """Return the image of `-x`."""
        lo, hi = self
        return _new(Interval, (-hi, -lo))

    def add(self, other: Interval) -> Interval:
        """Return the image of `x + y`."""
        a, b = self
        c, d = other
        try:
            return _new(Interval, (lower(a + c), upper(b + d)))
        except OverflowError:
            return _clamped(self).add(_clamped(other))

    def sub(self, other: Interval) -> Interval:
        """Return the image of `x - y`."""
        a, b = self
        c, d = other
        try:
            return _new(Interval, (lower(a - d), upper(b - c)))
        except OverflowError:
            return _clamped(self).sub(_clamped(other))

    def scale(self, factor: int) -> Interval:
        """Return the smallest interval that holds every `factor * x`."""
        lo, hi = self if factor >= 0 else (self.hi, self.lo)
        return _new(Interval, (lower(times(lo, factor)), upper(times(hi, factor))))

    def mul(self, other: Interval) -> Interval:
        """Return the image of `x * y`."""
        a, b = self
        c, d = other
        if a >= 0 and c >= 0:
            return _new(Interval, (lower(a * c), upper(times(b, d))))
        corners = (times(a, c), times(a, d), times(b, c), times(b, d))
        return _new(Interval, (lower(min(corners)), upper(max(corners))))

    def floordiv(self, other: Interval) -> Interval:
        """Return the image of `x // y` over the nonzero divisors."""
        if other.lo > 0:
            return _quotient(self, other)
        above = other.intersect(POSITIVE)
        below = other.neg().intersect(POSITIVE)
        return _union(
            _quotient(self, above) if above else None,
            _quotient(self.neg(), below) if below else None,
        )

    def mod(self, other: Interval) -> Interval:
        """Return the image of `x % y`, with the sign of y, over the nonzero divisors.

        Tight for a single divisor, and where `x // y` is the same for all members.  In general the
        ends 0 and `y - 1` need not be reached: 7 modulo 3 or 4 is answered with [0, 3].
        """
        if other.lo > 0:
            return _remainder(self, other)
        above = other.intersect(POSITIVE)
        below = other.neg().intersect(POSITIVE)
        return _union(
            _remainder(self, above) if above else None,
            _remainder(self.neg(), below).neg() if below else None,
        )

    def abs(self) -> Interval:
        """Return the image of `abs(x)`."""
        lo, hi = self
        if lo >= 0:
            return self
        if hi <= 0:
            return _new(Interval, (-hi, -lo))
        return _new(Interval, (0, hi if hi >= -lo else -lo))

    def power(self, exponent: int) -> Interval:
        """Return the image of `x ** exponent` for a natural exponent; `0 ** 0` is 1."""
        base = self if exponent & 1 else self.abs()
        return Interval(
            lower(_signed_power(base.lo, exponent)), upper(_signed_power(base.hi, exponent))
        )

    def pow(self, other: Interval) -> Interval:
        """Return the image of `x ** y` over the natural exponents."""
        exponents = other.intersect(NATURAL)
        if exponents is None:
            return EVERYTHING
        least, greatest = exponents
        if least == greatest and not isinstance(least, float):
            return self.power(least)
        lo, hi = self
        # At least two consecutive exponents, so both parities occur.
        even, odd = _greatest_of_each_parity(greatest)
        highest: Bound = NINF
        if lo < 0:
            lowest = -saturating_power(-lo, odd)
            highest = saturating_power(-lo, even)
        else:
            lowest = saturating_power(lo, least) if lo > 0 else 0
        if hi >= 0:
            highest = max(highest, saturating_power(hi, greatest), saturating_power(hi, least))
        return _new(Interval, (lower(lowest), upper(highest)))

    def bit_and(self, other: Interval) -> Interval:
        """Return the image of `x & y`."""
        lo, hi = and_range(self, other)
        return _new(Interval, (lower(lo), upper(hi)))

    def bit_or(self, other: Interval) -> Interval:
        """Return the image of `x | y`."""
        lo, hi = or_range(self, other)
        return _new(Interval, (lower(lo), upper(hi)))

    def bit_xor(self, other: Interval) -> Interval:
        """Return the image of `x ^ y`."""
        lo, hi = xor_range(self, other)
        return _new(Interval, (lower(lo), upper(hi)))


EVERYTHING: Final = Interval(NINF, INF)
NATURAL: Final = Interval(0, INF)
POSITIVE: Final = Interval(1, INF)


def point(number: int) -> Interval:
    """Return the interval of one number (with an infinite end for a number past `LIMIT`)."""
    return _new(Interval, (lower(number), upper(number)))


def _clamped(interval: Interval) -> Interval:
    return _new(Interval, (lower(interval.lo), upper(interval.hi)))


def _union(left: Interval | None, right: Interval | None) -> Interval:
    """Return the hull of those that exist, `EVERYTHING` where none does."""
    if left is None:
        return EVERYTHING if right is None else right
    return left if right is None else left.hull(right)


def _quotient(dividend: Interval, divisor: Interval) -> Interval:
    """Return the image of `x // y` for positive divisors.

    The quotient grows with x; as y grows it falls towards 0 or rises towards -1, by the sign of x.
    """
    lo, hi = dividend
    least, greatest = divisor
    low = _end_quotient(lo, greatest if lo >= 0 else least)
    high = _end_quotient(hi, least if hi >= 0 else greatest)
    return _new(Interval, (lower(low), upper(high)))


def _end_quotient(end: Bound, divisor: Bound) -> Bound:
    if isinstance(divisor, float):
        return 0 if end >= 0 else -1
    return end if isinstance(end, float) else end // divisor


def _remainder(dividend: Interval, divisor: Interval) -> Interval:
    """Return a superset of `x % y` for positive divisors; see `Interval.mod` for its tightness."""
    least, greatest = divisor
    if least == greatest and not isinstance(least, float):
        return _remainder_by_one(dividend, least)
    quotient, greatest_quotient = _quotient(dividend, divisor)
    highest = greatest - 1
    if quotient == greatest_quotient and not isinstance(quotient, float):
        lo, hi = dividend.sub(divisor.scale(quotient))  # past `LIMIT` these may be further out
        return _new(Interval, (max(lo, 0), min(hi, upper(highest))))
    if dividend.lo >= 0 and dividend.hi < highest:
        highest = dividend.hi
    return _new(Interval, (0, upper(highest)))


def _remainder_by_one(dividend: Interval, divisor: int) -> Interval:
    """Return the image of `x % divisor`; a dividend that passes a multiple reaches both ends."""
    lo, hi = dividend
    if isinstance(lo, float) or isinstance(hi, float) or lo // divisor != hi // divisor:
        return _new(Interval, (0, upper(divisor - 1)))
    return _new(Interval, (lower(lo % divisor), upper(hi % divisor)))


def _signed_power(base: Bound, exponent: int) -> Bound:
    """Return `base ** exponent`, for a base that is natural or an exponent that is odd."""
    if base < 0:
        return -saturating_power(-base, exponent)
    return saturating_power(base, exponent)


def _greatest_of_each_parity(end: Bound) -> tuple[Bound, Bound]:
    """Return the greatest even and the greatest odd number up to a positive `end`."""
    if isinstance(end, float):
        return INF, INF
    return (end - 1, end) if end & 1 else (end, end - 1)
