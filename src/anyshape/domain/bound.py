"""Ends of integer intervals: an integer, or one of the two infinities.

A `Bound` that is a float is `INF` or `NINF`, never anything else: `int + INF` stays exact, and no
rounding ever happens.  Ends are kept within `LIMIT`, because CPython refuses to mix an infinity
with an integer that does not fit a float, because every end must do as a constant of an expression,
and because nobody proves anything with larger numbers.
Clamping always moves an end outward, so it only ever enlarges the set.
"""

from typing import Final, TypeAlias

Bound: TypeAlias = int | float

INF: Final = float("inf")
NINF: Final = -INF

LIMIT_BITS: Final = 240
LIMIT: Final = 1 << LIMIT_BITS
_NEGATIVE_LIMIT: Final = -LIMIT


def lower(value: Bound) -> Bound:
    """Return the largest representable lower end that is at most `value`.

    `INF` stands for a value known to be above `LIMIT`, and becomes `LIMIT`.
    """
    if value < _NEGATIVE_LIMIT:
        return NINF
    return LIMIT if value > LIMIT else value


def upper(value: Bound) -> Bound:
    """Return the smallest representable upper end that is at least `value`.

    `NINF` stands for a value known to be below `-LIMIT`, and becomes `-LIMIT`.
    """
    if value > LIMIT:
        return INF
    return _NEGATIVE_LIMIT if value < _NEGATIVE_LIMIT else value


def floor_div(bound: Bound, divisor: int) -> Bound:
    """Return `bound / divisor` rounded down, for a positive divisor; infinities stay."""
    return bound if isinstance(bound, float) else bound // divisor


def ceil_div(bound: Bound, divisor: int) -> Bound:
    """Return `bound / divisor` rounded up, for a positive divisor; infinities stay."""
    return bound if isinstance(bound, float) else -(-bound // divisor)


def times(left: Bound, right: Bound) -> Bound:
    """Return the product of two ends, where zero times an infinity is zero.

    >>> times(0, INF), times(-2, INF), times(10**400, NINF)
    (0, -inf, -inf)
    """
    if not left or not right:
        return 0
    try:
        return left * right
    except OverflowError:  # an infinity times an integer too large for a float
        return INF if (left > 0) == (right > 0) else NINF


def saturating_power(base: Bound, exponent: Bound) -> Bound:
    """Return `base ** exponent` for natural ends, or `INF` once it is past `LIMIT`.

    Never builds a number of more than `2 * LIMIT_BITS` bits, unless the exponent is one.

    >>> saturating_power(3, 4), saturating_power(0, 0), saturating_power(2, 10**400)
    (81, 1, inf)
    """
    if exponent == 0:
        return 1
    if base <= 1 or exponent == 1:
        return base
    if isinstance(base, float) or isinstance(exponent, float):
        return INF
    if (base.bit_length() - 1) * exponent > LIMIT_BITS:
        return INF
    power: int = base**exponent
    return power
