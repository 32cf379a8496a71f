"""The table of ops whose value is a float: IEEE doubles, evaluated exactly as Python does.

The bounds use that each basic operation is correctly rounded, hence monotone: the results at the
ends of the operands' spans bound all results. An integer operand has the span of its bounds as
floats. No row of bounds sees a NaN: `span_of` answers ANY where an operand may be one.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain.bound import INF, NINF
from anyshape.expr.table.row import REAL, Op
from anyshape.expr.text.bounded_text import ATOMIC, SUM, Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Span(NamedTuple):
    """The doubles from `lo` to `hi`, and NaN when `nan`."""

    lo: float
    hi: float
    nan: bool


ANY: Final = Span(NINF, INF, True)

LARGEST: Final = sys.float_info.max
_EXACT: Final = 2.0**53
_MANY_DIGITS: Final = 400  # a float has fewer
_SLACK: Final = 2.0**-50


def span_of(op: Op, spans: Sequence[Span]) -> Span:
    """The span of `op` over operands in the given spans; ANY where that is not simple."""
    for s in spans:
        if s.nan:
            return ANY
    span: Span = op.bounds(*spans)
    return span


def _has_zero(a: Span) -> bool:
    return a.lo <= 0 <= a.hi


def _has_infinity(a: Span) -> bool:
    return a.lo == NINF or a.hi == INF


def _corners(function: Callable[[float, float], float], a: Span, b: Span) -> Span:
    """The hull of the four corner results of a monotone op; ANY where one is not a number."""
    results = [function(x, y) for x in a[:2] for y in b[:2]]
    if any(map(math.isnan, results)):
        return ANY
    return Span(min(results), max(results), False)


def _product(a: Span, b: Span) -> Span:
    if (_has_zero(a) and _has_infinity(b)) or (_has_zero(b) and _has_infinity(a)):
        return ANY
    return _corners(operator.mul, a, b)


def _quotient(a: Span, b: Span) -> Span:
    return ANY if _has_zero(b) else _corners(operator.truediv, a, b)


def _finite(a: Span) -> Span:
    """The span of a result that Python raises for rather than give an infinity."""
    return Span(max(a.lo, -LARGEST), min(a.hi, LARGEST), a.nan)


def _ratio(a: Span, b: Span) -> Span:
    """The span of the true division of integers, which is never infinite or NaN."""
    if _has_zero(b):
        return _finite(Span(NINF, INF, False))
    if _has_infinity(a) and _has_infinity(b):
        return _finite(Span(0.0 if a.lo >= 0 and b.lo > 0 else NINF, INF, False))
    results = [x / y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo, hi = min(results), max(results)
    if any(_EXACT <= abs(end) < INF for end in (a.lo, a.hi, b.lo, b.hi)):
        # Ends were rounded to floats before the division: each of the three roundings, and the one
        # of the exact quotient, is off by a factor of at most 1 + 2**-53.
        lo, hi = _outward(results)
    return _finite(Span(lo, hi, False))


def _floor_quotient(a: Span, b: Span) -> Span:
    """The span of `a // b`, the floor of the exact quotient; exact below 2**52."""
    if _has_zero(b) or _has_infinity(a) or _has_infinity(b):
        return ANY
    span = _corners(operator.floordiv, a, b)
    if span.nan or max(abs(span.lo), abs(span.hi)) < _EXACT / 2:
        return span
    return Span(*_outward(span[:2]), False)


def _outward(ends: Sequence[float]) -> tuple[float, float]:
    """The hull of ends that are each off by a few roundings."""
    lo, hi = min(ends), max(ends)
    return lo - abs(lo) * _SLACK, hi + abs(hi) * _SLACK


def _remainder(a: Span, b: Span) -> Span:
    """The span of `a % b`, which has the sign of b and is at most |b|, rounding included."""
    return ANY if _has_infinity(a) else Span(min(b.lo, 0.0), max(b.hi, 0.0), False)


def _extremum(pick: Callable[..., float]) -> Callable[..., Span]:
    """The span of `max` or `min`; the ends of integers may have been rounded inward."""

    def bounds(*spans: Span) -> Span:
        lo, hi = pick(s.lo for s in spans), pick(s.hi for s in spans)
        if abs(lo) >= _EXACT:
            lo = math.nextafter(lo, NINF)
        if abs(hi) >= _EXACT:
            hi = math.nextafter(hi, INF)
        return Span(lo, hi, False)

    return bounds


MAXIMUM_BOUNDS: Final = _extremum(max)
MINIMUM_BOUNDS: Final = _extremum(min)
QUOTIENT_BOUNDS: Final = _quotient


def _rounded_to(x: Span, digits: Span) -> Span:
    """The span of `round(x, digits)`, monotone in x."""
    if digits.lo != digits.hi or abs(digits.lo) > _MANY_DIGITS or _has_infinity(x):
        return Span(NINF, INF, False)
    try:
        return Span(round(x.lo, int(digits.lo)), round(x.hi, int(digits.lo)), False)
    except OverflowError:
        return Span(NINF, INF, False)


def _absolute(a: Span) -> Span:
    low = 0.0 if _has_zero(a) else min(abs(a.lo), abs(a.hi))
    return Span(low, max(abs(a.lo), abs(a.hi)), False)


def _root(a: Span) -> Span:
    return Span(math.sqrt(a.lo), math.sqrt(a.hi), False) if a.lo >= 0 else ANY


def _const_text(value: float) -> Layout:
    text = repr(value)
    return Layout((text,), SUM if text[0] == "-" else ATOMIC)


# The operand of a constant is a Python float.
CONST: Final = Op(
    "const",
    "",
    REAL,
    value=float,
    text=_const_text,
    python=lambda value: (f"float.fromhex({value.hex()!r})",),
)
FLOAT: Final = Op(
    "float",
    "i",
    REAL,
    value=float,
    bounds=_finite,
    partial=_has_infinity,
    python="float({0})",
)
RATIO: Final = Op(
    "ratio",
    "ii",
    REAL,
    value=operator.truediv,
    bounds=_ratio,
    partial=lambda x, y: _has_zero(y) or _has_infinity(x),
    text="{0:ATOMIC} / {1:ATOMIC}",
    level=SUM,
    infix="/",
    python="({0} / {1})",
)
ADD: Final = Op(
    "add",
    "rr",
    REAL,
    value=operator.add,
    bounds=lambda x, y: _corners(operator.add, x, y),
    text="{0:ATOMIC} + {1:ATOMIC}",
    level=SUM,
    infix="+",
    python="({0} + {1})",
)
SUB: Final = Op(
    "sub",
    "rr",
    REAL,
    value=operator.sub,
    bounds=lambda x, y: _corners(operator.sub, x, y),
    text="{0:ATOMIC} - {1:ATOMIC}",
    level=SUM,
    infix="-",
    python="({0} - {1})",
)
MUL: Final = Op(
    "mul",
    "rr",
    REAL,
    value=operator.mul,
    bounds=_product,
    text="{0:ATOMIC}*{1:ATOMIC}",
    level=SUM,
    infix="*",
    python="({0} * {1})",
)
DIV: Final = Op(
    "div",
    "rr",
    REAL,
    value=operator.truediv,
    bounds=_quotient,
    partial=lambda _x, y: _has_zero(y),
    text="{0:ATOMIC} / {1:ATOMIC}",
    level=SUM,
    infix="/",
    python="({0} / {1})",
)
NEG: Final = Op(
    "neg",
    "r",
    REAL,
    value=operator.neg,
    bounds=lambda x: Span(-x.hi, -x.lo, False),
    text="-{0:ATOMIC}",
    level=SUM,
    python="(-{0})",
)
ABS: Final = Op("abs", "r", REAL, value=abs, bounds=_absolute, python="abs({0})")
SQRT: Final = Op(
    "sqrt",
    "r",
    REAL,
    value=math.sqrt,
    bounds=_root,
    partial=lambda x: x.lo < 0,
    python="math.sqrt({0})",
)
REAL_FLOORDIV: Final = Op(
    "real_floordiv",
    "rr",
    REAL,
    value=operator.floordiv,
    bounds=_floor_quotient,
    partial=lambda _x, y: _has_zero(y),
    text="{0:ATOMIC} // {1:ATOMIC}",
    level=SUM,
    infix="//",
    python="({0} // {1})",
)
REAL_MOD: Final = Op(
    "real_mod",
    "rr",
    REAL,
    value=operator.mod,
    bounds=_remainder,
    partial=lambda _x, y: _has_zero(y),
    text="{0:ATOMIC} % {1:ATOMIC}",
    level=SUM,
    infix="%",
    python="({0} % {1})",
)
# Integers are compared and returned as they are, as Python's own functions do.
REAL_MAX: Final = Op("real_max", "nn*", REAL, value=max, bounds=MAXIMUM_BOUNDS, python="max({*, })")
REAL_MIN: Final = Op("real_min", "nn*", REAL, value=min, bounds=MINIMUM_BOUNDS, python="min({*, })")
ROUND_TO: Final = Op(
    "round_to",
    "ri",
    REAL,
    value=round,
    bounds=_rounded_to,
    partial=lambda _x, digits: digits.lo < 0,
    python="round({0}, {1})",
)
