"""The table of ops whose value is a float: IEEE doubles, evaluated exactly as Python does.

The bounds use that each basic operation is correctly rounded, hence monotone: the results at the
ends of the operands' spans bound all results. An integer operand has the span of its bounds as
floats. No row of bounds sees a NaN: `span_of` answers ANY where an operand may be one.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain.bound import INF, NINF
from anyshape.expr.layout import ATOMIC, SUM, Layout
from anyshape.expr.row import REAL, Op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Span(NamedTuple):
    """The doubles from `lo` to `hi`, and NaN when `nan`."""

    lo: float
    hi: float
    nan: bool


ANY: Final = Span(NINF, INF, True)

_EXACT: Final = 2.0**53
_SLACK: Final = 2.0**-50


def span_of(op: Op, spans: Sequence[Span]) -> Span:
    """The span of `op` over operands in the given spans; ANY where that is not simple."""
    if any(s.nan for s in spans):
        return ANY
    span: Span = op.bounds(*spans)
    return span


def _any(*_spans: Span) -> Span:
    return ANY


def _has_zero(a: Span) -> bool:
    return a.lo <= 0 <= a.hi


def _has_infinity(a: Span) -> bool:
    return a.lo == NINF or a.hi == INF


def _corners(function: Callable[[float, float], float], a: Span, b: Span) -> Span:
    """The hull of the four corner results of a monotone op; ANY where one is not a number."""
    results = [function(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    if any(math.isnan(r) for r in results):
        return ANY
    return Span(min(results), max(results), False)


def _product(a: Span, b: Span) -> Span:
    if (_has_zero(a) and _has_infinity(b)) or (_has_zero(b) and _has_infinity(a)):
        return ANY
    return _corners(operator.mul, a, b)


def _quotient(a: Span, b: Span) -> Span:
    return ANY if _has_zero(b) else _corners(operator.truediv, a, b)


def _ratio(a: Span, b: Span) -> Span:
    """The span of the true division of integers, which is never infinite or NaN."""
    if _has_zero(b):
        return Span(NINF, INF, False)
    if _has_infinity(a) and _has_infinity(b):
        return Span(0.0 if a.lo >= 0 and b.lo > 0 else NINF, INF, False)
    results = [x / y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo, hi = min(results), max(results)
    if any(_EXACT <= abs(end) < INF for end in (a.lo, a.hi, b.lo, b.hi)):
        # Ends were rounded to floats before the division: each of the three roundings, and the one
        # of the exact quotient, is off by a factor of at most 1 + 2**-53.
        lo, hi = lo - abs(lo) * _SLACK, hi + abs(hi) * _SLACK
    return Span(lo, hi, False)


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
    bounds=_any,
    text=_const_text,
    python=lambda value: (f"float.fromhex({value.hex()!r})",),
)
FLOAT: Final = Op(
    "float",
    "i",
    REAL,
    value=float,
    bounds=lambda x: x,
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
POW: Final = Op(
    "pow",
    "rr",
    REAL,
    value=math.pow,
    bounds=_any,
    partial=lambda _x, _y: True,
    python="math.pow({0}, {1})",
)
