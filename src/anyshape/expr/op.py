"""The table of ops: one row per op that an atom can be.

A row says how the op is evaluated on Python numbers and which interval its result lies in.
Everything that interprets atoms (evaluation, bounds, printing, parsing, the solver bridge) reads
this table or is keyed by `Op.name`.

Semantics are Python's: floor division and modulo follow the sign of the divisor, `round` goes to
even. An op is undefined where Python raises, and where the value has over MAX_BITS bits.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain.bound import INF, lower, upper
from anyshape.domain.interval import EVERYTHING, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_BITS: Final = 1 << 16


class Op(NamedTuple):
    """One row; `evaluate(values, data)` and `bounds(intervals, data)` take operands in order.

    `data` are integers that are part of the op itself: the exponents of a product.
    """

    name: str
    evaluate: Callable[[Sequence[Any], tuple[int, ...]], int]
    bounds: Callable[[Sequence[Interval], tuple[int, ...]], Interval]


def _no_value(_values: Sequence[Any], _data: tuple[int, ...]) -> int:
    raise LookupError("a symbol has no value of its own")


def power_of(base: int, exponent: int) -> int:
    """Python's `base ** exponent` for a natural exponent; refuses results of absurd size."""
    if exponent < 0:
        raise ValueError("negative exponent of an integer power")
    if abs(base) > 1 and base.bit_length() * exponent > MAX_BITS:
        raise OverflowError(f"an integer power of more than {MAX_BITS} bits")
    return int(base**exponent)


def _product(values: Sequence[Any], data: tuple[int, ...]) -> int:
    result = 1
    for value, exponent in zip(values, data, strict=True):
        result *= power_of(value, exponent)
        if result.bit_length() > MAX_BITS:
            raise OverflowError(f"a product of more than {MAX_BITS} bits")
    return result


def _product_bounds(intervals: Sequence[Interval], data: tuple[int, ...]) -> Interval:
    result = Interval(1, 1)
    for interval, exponent in zip(intervals, data, strict=True):
        result = result.mul(interval if exponent == 1 else interval.power(exponent))
    return result


def _maximum_bounds(intervals: Sequence[Interval], _data: tuple[int, ...]) -> Interval:
    return Interval(max(0, *(i.lo for i in intervals)), max(0, *(i.hi for i in intervals)))


def _choice_bounds(intervals: Sequence[Interval], _data: tuple[int, ...]) -> Interval:
    return intervals[1].hull(Interval(0, 0))


def _rounded(rounding: Callable[[float], int]) -> Callable[..., Interval]:
    def bounds(intervals: Sequence[Interval], _data: tuple[int, ...]) -> Interval:
        lo, hi = intervals[0]
        return Interval(
            lower(rounding(lo)) if abs(lo) < INF else lower(lo),
            upper(rounding(hi)) if abs(hi) < INF else upper(hi),
        )

    return bounds


SYMBOL: Final = Op("symbol", _no_value, lambda _i, _d: EVERYTHING)
PRODUCT: Final = Op("product", _product, _product_bounds)
FLOORDIV: Final = Op("floordiv", lambda v, _d: v[0] // v[1], lambda i, _d: i[0].floordiv(i[1]))
MAXIMUM: Final = Op("maximum", lambda v, _d: max(0, *v), _maximum_bounds)
GROUP: Final = Op("group", lambda v, _d: int(v[0]), lambda i, _d: i[0])
POWER: Final = Op("power", lambda v, _d: power_of(v[0], v[1]), lambda i, _d: i[0].pow(i[1]))
BIT_AND: Final = Op("bit_and", lambda v, _d: v[0] & v[1], lambda i, _d: i[0].bit_and(i[1]))
BIT_OR: Final = Op("bit_or", lambda v, _d: v[0] | v[1], lambda i, _d: i[0].bit_or(i[1]))
BIT_XOR: Final = Op("bit_xor", lambda v, _d: v[0] ^ v[1], lambda i, _d: i[0].bit_xor(i[1]))
CHOICE: Final = Op("choice", lambda v, _d: v[1] if v[0] else 0, _choice_bounds)
FLOOR: Final = Op("floor", lambda v, _d: math.floor(v[0]), _rounded(math.floor))
CEIL: Final = Op("ceil", lambda v, _d: math.ceil(v[0]), _rounded(math.ceil))
ROUND: Final = Op("round", lambda v, _d: round(v[0]), _rounded(round))
TRUNC: Final = Op("trunc", lambda v, _d: math.trunc(v[0]), _rounded(math.trunc))
ROUNDINGS: Final = (FLOOR, CEIL, ROUND, TRUNC)

OPS: Final[dict[str, Op]] = {
    op.name: op
    for op in (
        SYMBOL,
        PRODUCT,
        FLOORDIV,
        MAXIMUM,
        GROUP,
        POWER,
        BIT_AND,
        BIT_OR,
        BIT_XOR,
        CHOICE,
        FLOOR,
        CEIL,
        ROUND,
        TRUNC,
    )
}

COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
