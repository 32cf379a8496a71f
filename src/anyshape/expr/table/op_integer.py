"""The table of ops whose value is an integer: one row per op that an atom can be.

Semantics are Python's: floor division and modulo follow the sign of the divisor, `round` goes to
even. An op is undefined where Python raises, and where the value has over MAX_BITS bits.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final

from anyshape.domain.bound import INF, lower, upper
from anyshape.domain.interval import EVERYTHING, Interval
from anyshape.expr.table.row import INTEGER, Op
from anyshape.expr.table.template import joined
from anyshape.expr.text.bounded_text import ATOMIC, MULTIPLE, POWERED, TERM, UNARY, Layout, Part

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.domain.bound import Bound
    from anyshape.expr.text.bounded_text import Piece

MAX_BITS: Final = 1 << 16
_MANY_DIGITS: Final = 100  # no bound has as many
EXACT_EXPONENT: Final = 8  # a product with larger exponents is an unknown for z3


def _no_value() -> int:
    raise LookupError("a symbol has no value of its own")


SYMBOL: Final = Op("symbol", "", INTEGER, value=_no_value, bounds=lambda: EVERYTHING, python="")


# ---------------------------------------------------------------------- products and powers


def power_of(base: int, exponent: int) -> int:
    """Python's `base ** exponent` for a natural exponent; refuses results of absurd size."""
    if exponent < 0:
        raise ValueError("negative exponent of an integer power")
    if abs(base) > 1 and base.bit_length() * exponent > MAX_BITS:
        raise OverflowError(f"an integer power of more than {MAX_BITS} bits")
    return int(base**exponent)


def _split(operands: tuple[Any, ...]) -> zip[tuple[Any, int]]:
    """The factors of a product with their exponents: its operands, then its data."""
    half = len(operands) // 2
    return zip(operands[:half], operands[half:], strict=True)


def _product(*operands: int) -> int:
    result = 1
    for base, exponent in _split(operands):
        result *= power_of(base, exponent)
        if result.bit_length() > MAX_BITS:
            raise OverflowError(f"a product of more than {MAX_BITS} bits")
    return result


def _product_bounds(*operands: Any) -> Interval:
    result: Interval | None = None
    for interval, exponent in _split(operands):
        of_factor = interval if exponent == 1 else interval.power(exponent)
        result = of_factor if result is None else result.mul(of_factor)
    assert result is not None
    return result


def _product_text(*operands: Any) -> Layout:
    factors = [
        base if exponent == 1 else Layout((Part(base, ATOMIC), f"**{exponent}"), POWERED)
        for base, exponent in _split(operands)
    ]
    return Layout(tuple(joined("*", [Part(factor, UNARY) for factor in factors])), MULTIPLE)


def _product_python(*operands: Any) -> list[Piece]:
    pieces: list[Piece] = []
    for base, exponent in _split(operands):
        pieces += (" * " if pieces else "(", Part(base, 0))
        if exponent != 1:
            pieces.append(f" ** {exponent}")
    return [*pieces, ")"]


def _product_z3(z: Any, *operands: Any) -> Any:
    factors = list(_split(operands))
    if max(exponent for _, exponent in factors) > EXACT_EXPONENT:
        return None
    result = z.number(1)
    for base, exponent in factors:
        for _ in range(exponent):
            result = result * base
    return result


PRODUCT: Final = Op(
    "product",
    "i*",
    INTEGER,
    value=_product,
    bounds=_product_bounds,
    text=_product_text,
    python=_product_python,
    z3=_product_z3,
)
POWER: Final = Op(
    "power",
    "ii",
    INTEGER,
    value=power_of,
    bounds=Interval.pow,
    partial=lambda _base, exponent: exponent.lo < 0,
    text="{0:ATOMIC}**{1:ATOMIC}",
    level=POWERED,
    infix="**",
    python="({0} ** {1})",
    by_value=True,
)
GROUP: Final = Op(
    "group", "i", INTEGER, value=lambda x: x, bounds=lambda x: x, python="{0}", z3=lambda _z, x: x
)

# ---------------------------------------------------------------------- division


def _quotient_z3(z: Any, x: Any, y: Any) -> Any:
    """`x // y`: z3's `div` rounds down for the only constant divisors there are, positive ones.

    Else a new number q with y*q <= x < y*q + y for y > 0, and y*q + y < x <= y*q for y < 0.
    """
    if z.is_number(y):
        return x / y
    q = z.unknown_integer()
    z.require(y != 0)
    z.require(z.Implies(y > 0, z.And(y * q <= x, x < y * q + y)))
    z.require(z.Implies(y < 0, z.And(y * q >= x, x > y * q + y)))
    return q


FLOORDIV: Final = Op(
    "floordiv",
    "ii",
    INTEGER,
    value=operator.floordiv,
    bounds=Interval.floordiv,
    partial=lambda _x, y: y.lo <= 0 <= y.hi,
    text="{0:TERM} // {1:UNARY}",
    level=TERM,
    infix="//",
    python="({0} // {1})",
    z3=_quotient_z3,
)

# ---------------------------------------------------------------------- choosing


def _maximum_bounds(*intervals: Interval) -> Interval:
    low: Bound = 0
    high: Bound = 0
    for lo, hi in intervals:
        low = lo if lo > low else low
        high = hi if hi > high else high
    return Interval(low, high)


def _maximum_z3(z: Any, *operands: Any) -> Any:
    result = z.number(0)
    for x in operands:
        result = z.If(x > result, x, result)
    return result


MAXIMUM: Final = Op(
    "maximum",
    "i*",
    INTEGER,
    value=lambda *x: max(0, *x),
    bounds=_maximum_bounds,
    text="max(0, {*, })",
    python="max(0, {*, })",
    z3=_maximum_z3,
)
CHOICE: Final = Op(
    "choice",
    "bi",
    INTEGER,
    value=lambda condition, x: x if condition else 0,
    bounds=lambda _condition, x: x.hull(Interval(0, 0)),
    text="ite({0}, {1}, 0)",
    python="({1} if {0} else 0)",
    z3=lambda z, condition, x: z.If(condition, x, 0),
)

# ---------------------------------------------------------------------- bits

BIT_AND: Final = Op(
    "bit_and", "ii", INTEGER, value=operator.and_, bounds=Interval.bit_and, python="({0} & {1})"
)
BIT_OR: Final = Op(
    "bit_or", "ii", INTEGER, value=operator.or_, bounds=Interval.bit_or, python="({0} | {1})"
)
BIT_XOR: Final = Op(
    "bit_xor", "ii", INTEGER, value=operator.xor, bounds=Interval.bit_xor, python="({0} ^ {1})"
)


def _bits(a: Interval) -> Interval:
    """The number of bits of the absolute value."""
    sizes = [INF if abs(end) == INF else int(end).bit_length() for end in a]
    return Interval(0 if a.lo <= 0 <= a.hi else min(sizes), max(sizes))


def _set_bits(a: Interval) -> Interval:
    return Interval(0 if a.lo <= 0 <= a.hi else 1, _bits(a).hi)


BIT_LENGTH: Final = Op(
    "bit_length", "i", INTEGER, value=int.bit_length, bounds=_bits, python="int.bit_length({0})"
)
BIT_COUNT: Final = Op(
    "bit_count", "i", INTEGER, value=int.bit_count, bounds=_set_bits, python="int.bit_count({0})"
)

# ---------------------------------------------------------------------- functions of integers


def _root(a: Interval) -> Interval:
    lo, hi = (end if abs(end) == INF else math.isqrt(max(int(end), 0)) for end in a)
    return Interval(max(lo, 0), max(hi, 0))


ISQRT: Final = Op(
    "isqrt",
    "i",
    INTEGER,
    value=math.isqrt,
    bounds=_root,
    partial=lambda x: x.lo < 0,
    python="math.isqrt({0})",
)


def _residue(_base: Interval, _exponent: Interval, modulus: Interval) -> Interval:
    return Interval(min(modulus.lo + 1, 0), max(modulus.hi - 1, 0))


POWER_MOD: Final = Op(
    "power_mod",
    "iii",
    INTEGER,
    value=pow,
    bounds=_residue,
    partial=lambda _base, exponent, modulus: exponent.lo < 0 or modulus.lo <= 0 <= modulus.hi,
    python="pow({0}, {1}, {2})",
)


def _rounded_to(x: Interval, digits: Interval) -> Interval:
    """The bounds of `round(x, digits)`, monotone in x; the digits are constant or anything."""
    if digits.lo != digits.hi:
        return EVERYTHING
    ends = [
        end if abs(end) == INF else round(int(end), max(int(digits.lo), -_MANY_DIGITS)) for end in x
    ]
    return Interval(lower(ends[0]), upper(ends[1]))


INT_ROUND: Final = Op(
    "int_round", "ii", INTEGER, value=round, bounds=_rounded_to, python="round({0}, {1})"
)

# ---------------------------------------------------------------------- rounding of a real


def _rounding(name: str, value: Callable[[float], int], python: str) -> Op:
    """A monotone function of a real, which has no value at an infinity or NaN."""

    def bounds(x: Any) -> Interval:
        return Interval(
            lower(value(x.lo)) if abs(x.lo) < INF else lower(x.lo),
            upper(value(x.hi)) if abs(x.hi) < INF else upper(x.hi),
        )

    def partial(x: Any) -> bool:
        return bool(x.nan or abs(x.lo) == INF or abs(x.hi) == INF)

    return Op(name, "n", INTEGER, value=value, bounds=bounds, partial=partial, python=python)


FLOOR: Final = _rounding("floor", math.floor, "math.floor({0})")
CEIL: Final = _rounding("ceil", math.ceil, "math.ceil({0})")
ROUND: Final = _rounding("round", round, "round({0})")
TRUNC: Final = _rounding("trunc", math.trunc, "math.trunc({0})")
ROUNDINGS: Final = (FLOOR, CEIL, ROUND, TRUNC)
