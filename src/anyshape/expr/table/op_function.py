"""The table of the functions of Python's `math` whose value is a float.

Python calls the C library, whose results are within a few ulps of the exact ones but not correctly
rounded. The bounds take the results at the ends of a span and widen them by `ULPS`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from anyshape.domain.bound import INF, NINF
from anyshape.expr.table.op_real import ANY, LARGEST, Span
from anyshape.expr.table.row import REAL, Op

if TYPE_CHECKING:
    from collections.abc import Callable

ULPS: Final = 4
SMALLEST: Final = 5e-324


LARGEST_EXPONENT: Final = math.log(LARGEST)  # its exponential is a double, the next one's is not


def down(x: float) -> float:
    """A lower bound of the exact result, where the C library gives `x`."""
    for _ in range(ULPS):
        x = math.nextafter(x, NINF)
    return x


def up(x: float) -> float:
    """An upper bound of the exact result, where the C library gives `x`."""
    for _ in range(ULPS):
        x = math.nextafter(x, INF)
    return x


def _has_infinity(x: Span) -> bool:
    return x.lo == NINF or x.hi == INF


# ---------------------------------------------------------------------- exponentials


def _logarithm(name: str, value: Callable[[float], float]) -> Op:
    """An increasing function, undefined below and at 0."""

    def bounds(x: Span) -> Span:
        if x.hi <= 0:
            return Span(NINF, INF, False)  # no value at all
        return Span(down(value(max(x.lo, SMALLEST))), up(value(x.hi)), False)

    return Op(
        name,
        "r",
        REAL,
        value=value,
        bounds=bounds,
        partial=lambda x: x.lo <= 0,
        python=f"math.{name}({{0}})",
    )


LOG: Final = _logarithm("log", math.log)
LOG2: Final = _logarithm("log2", math.log2)
LOG10: Final = _logarithm("log10", math.log10)


def _exponential(x: Span) -> Span:
    lo = max(0.0, down(math.exp(min(x.lo, LARGEST_EXPONENT))))
    return Span(lo, INF if x.hi > LARGEST_EXPONENT else up(math.exp(x.hi)), False)


EXP: Final = Op(
    "exp",
    "r",
    REAL,
    value=math.exp,
    bounds=_exponential,
    partial=lambda x: x.hi > LARGEST_EXPONENT,
    python="math.exp({0})",
)


def _power(x: Span, y: Span) -> Span:
    """A power of a positive base: its logarithm is bilinear, so the corners bound it."""
    if x.lo < 0 or (x.lo == 0 and y.lo <= 0):
        return ANY
    ends = []
    for base in (x.lo, x.hi):
        for exponent in (y.lo, y.hi):
            try:
                ends.append(math.pow(base, exponent))
            except OverflowError:
                ends.append(INF)
    return (
        ANY if any(map(math.isnan, ends)) else Span(max(0.0, down(min(ends))), up(max(ends)), False)
    )


def _power_raises(x: Span, y: Span) -> bool:
    """Whether the base may be negative, or 0 with a negative exponent, or the power too large."""
    return x.lo < 0 or (x.lo == 0 and y.lo < 0) or _power(x, y).hi > LARGEST / 2


POW: Final = Op(
    "pow",
    "rr",
    REAL,
    value=math.pow,
    bounds=_power,
    partial=_power_raises,
    python="math.pow({0}, {1})",
)

# ---------------------------------------------------------------------- trigonometry


def _trigonometric(name: str, value: Callable[[float], float], largest: float) -> Op:
    return Op(
        name,
        "r",
        REAL,
        value=value,
        bounds=lambda _x: Span(-largest, largest, False),
        partial=_has_infinity,
        python=f"math.{name}({{0}})",
    )


SIN: Final = _trigonometric("sin", math.sin, 1.0)
COS: Final = _trigonometric("cos", math.cos, 1.0)
TAN: Final = _trigonometric("tan", math.tan, INF)

# ---------------------------------------------------------------------- the sign


def _sign(x: Span) -> Span:
    if x.nan or x.lo <= 0 <= x.hi:
        return Span(-1.0, 1.0, False)
    sign = math.copysign(1.0, x.lo)
    return Span(sign, sign, False)


SIGN: Final = Op(
    "sign_of",
    "r",
    REAL,
    value=lambda x: math.copysign(1.0, x),
    bounds=_sign,
    python="math.copysign(1.0, {0})",
)
"""1.0 or -1.0: what tells 0.0 from -0.0, which are equal."""
