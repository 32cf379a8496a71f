"""Exact ranges of `&`, `|` and `^` over boxes of integers.

Integers are two's complement numbers with infinitely many sign bits.  A box is cut by the signs
of its two sides; inside one piece the sign of the result is known, and only `width` low bits are
left, which are an unsigned problem solved by scanning bits from the top (Warren, Hacker's Delight,
2nd edition, section 4-3).

An infinite end is replaced by the last number of `width` bits.  `width` leaves two bits above every
finite end, so below the top bit every pattern is reachable, and a result that reaches the top bit
can be made as large as one likes: it is reported as infinite.

Ranges are pairs `(lo, hi)` of bounds; this file does not know `Interval`.
"""

import operator
from collections.abc import Callable
from typing import TypeAlias

from anyshape.domain.bound import INF, NINF, Bound

Range: TypeAlias = tuple[Bound, Bound]
_Unsigned: TypeAlias = tuple[int, int]
_Solver: TypeAlias = Callable[[_Unsigned, _Unsigned, int], _Unsigned]
_Sign: TypeAlias = Callable[[bool, bool], bool]


def and_range(left: Range, right: Range) -> Range:
    """Return the hull of `x & y` for x in `left` and y in `right`.

    >>> and_range((5, 6), (-4, -3))
    (4, 5)
    """
    return _solve(left, right, _and_unsigned, operator.and_)


def or_range(left: Range, right: Range) -> Range:
    """Return the hull of `x | y` for x in `left` and y in `right`."""
    return _solve(left, right, _or_unsigned, operator.or_)


def xor_range(left: Range, right: Range) -> Range:
    """Return the hull of `x ^ y` for x in `left` and y in `right`."""
    return _solve(left, right, _xor_unsigned, operator.xor)


def _solve(left: Range, right: Range, solver: _Solver, sign: _Sign) -> Range:
    """Return the hull over the sign pieces; `sign` is the operation on sign bits."""
    finite = [end for end in (*left, *right) if not isinstance(end, float)]
    width = max((end.bit_length() for end in finite), default=0) + 2
    top = 1 << (width - 1)
    lows: list[Bound] = []
    highs: list[Bound] = []
    for left_negative, left_bits in _pieces(left, width):
        for right_negative, right_bits in _pieces(right, width):
            low, high = solver(left_bits, right_bits, (1 << width) - 1)
            if sign(left_negative, right_negative):
                low -= 1 << width
                high -= 1 << width
            lows.append(NINF if low < -top else low)
            highs.append(INF if high >= top else high)
    return min(lows), max(highs)


def _pieces(ends: Range, width: int) -> list[tuple[bool, _Unsigned]]:
    """Return the negative and the natural part of a range as `(is_negative, low bits)`."""
    lo, hi = ends
    size = 1 << width
    first = -size if isinstance(lo, float) else lo
    last = size - 1 if isinstance(hi, float) else hi
    pieces = []
    if first < 0:
        pieces.append((True, (first + size, min(last, -1) + size)))
    if last >= 0:
        pieces.append((False, (max(first, 0), last)))
    return pieces


def _or_unsigned(left: _Unsigned, right: _Unsigned, _mask: int) -> _Unsigned:
    return _min_or(left, right), _max_or(left, right)


def _and_unsigned(left: _Unsigned, right: _Unsigned, mask: int) -> _Unsigned:
    """Solve by De Morgan: `x & y = ~(~x | ~y)`."""
    low, high = _or_unsigned(_complement(left, mask), _complement(right, mask), mask)
    return mask ^ high, mask ^ low


def _xor_unsigned(left: _Unsigned, right: _Unsigned, mask: int) -> _Unsigned:
    """Find the maximum as the complement of a minimum: `x ^ y = ~(x ^ ~y)`."""
    return _min_xor(left, right), mask ^ _min_xor(left, _complement(right, mask))


def _complement(bits: _Unsigned, mask: int) -> _Unsigned:
    return mask ^ bits[1], mask ^ bits[0]


def _min_or(left: _Unsigned, right: _Unsigned) -> int:
    """Raise one lower end to a bit that the other one has anyway; its lower bits become zero."""
    a, b = left
    c, d = right
    rest = a ^ c
    while rest:
        bit = 1 << (rest.bit_length() - 1)
        rest ^= bit
        if c & bit:
            raised = (a | bit) & -bit
            if raised <= b:
                return raised | c
        else:
            raised = (c | bit) & -bit
            if raised <= d:
                return a | raised
    return a | c


def _max_or(left: _Unsigned, right: _Unsigned) -> int:
    """Drop from one upper end a bit that the other one has anyway; its lower bits become one."""
    a, b = left
    c, d = right
    rest = b & d
    while rest:
        bit = 1 << (rest.bit_length() - 1)
        rest ^= bit
        dropped = (b - bit) | (bit - 1)
        if dropped >= a:
            return dropped | d
        dropped = (d - bit) | (bit - 1)
        if dropped >= c:
            return b | dropped
    return b | d


def _min_xor(left: _Unsigned, right: _Unsigned) -> int:
    """Cancel every differing bit that can be cancelled, from the top down."""
    a, b = left
    c, d = right
    rest = a ^ c
    while rest:
        bit = 1 << (rest.bit_length() - 1)
        if c & bit:
            raised = (a | bit) & -bit
            if raised <= b:
                a = raised
        else:
            raised = (c | bit) & -bit
            if raised <= d:
                c = raised
        rest = (a ^ c) & (bit - 1)
    return a ^ c
