"""The table of ops that NumPy's scalars add: rounding to a precision, and NumPy's own functions.

`float32(x)` and `float16(x)` round a double to nearest, ties to even, and overflow to infinity. A
sum, product, quotient or square root of two numbers of such a precision is the rounded result of
the doubles: 53 >= 2 * 24 + 2 bits, so rounding twice is rounding once.

`np_log2_float32(x)` is `np.log2(np.float32(x))`. NumPy's functions differ from those of `math` in
the last bits, so NumPy computes the value. It is imported when a value is computed. Where NumPy
gives an infinity or NaN, so does the op; it is undefined nowhere.
"""

from __future__ import annotations

import math
import operator
import struct
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from anyshape.domain.bound import INF, NINF
from anyshape.expr.table.op_real import ANY, MAXIMUM_BOUNDS, MINIMUM_BOUNDS, QUOTIENT_BOUNDS, Span
from anyshape.expr.table.row import REAL, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    Bounds = Callable[..., Span]

FLOAT16_NAME: Final = "float16"
FLOAT32_NAME: Final = "float32"
FLOAT64_NAME: Final = "float64"
WIDTHS: Final = (FLOAT16_NAME, FLOAT32_NAME, FLOAT64_NAME)

# ---------------------------------------------------------------------- rounding


def to_float32(x: float) -> float:
    """The nearest number of 32 bits."""
    return _packed("f", x)


def to_float16(x: float) -> float:
    """The nearest number of 16 bits."""
    return _packed("e", x)


def _packed(code: str, x: float) -> float:
    try:
        (rounded,) = struct.unpack(code, struct.pack(code, float(x)))
    except OverflowError:
        return math.copysign(INF, x)
    return float(rounded)


def _rounding(name: str, value: Callable[[float], float]) -> Op:
    return Op(
        name,
        "r",
        REAL,
        value=value,
        bounds=lambda x: Span(value(x.lo), value(x.hi), False),
        python=f"numpy_ops[{name!r}]({{0}})",
    )


FLOAT16: Final = _rounding(FLOAT16_NAME, to_float16)
FLOAT32: Final = _rounding(FLOAT32_NAME, to_float32)
ROUNDINGS: Final[dict[str, Op]] = {FLOAT16_NAME: FLOAT16, FLOAT32_NAME: FLOAT32}

# ---------------------------------------------------------------------- bounds


class _Precision:
    """How far a function of NumPy may be off, relatively and absolutely, and its rounding."""

    def __init__(self, slack: float, least: float, rounded: Callable[[float], float]) -> None:
        self.slack = slack
        self.least = least
        self.rounded = rounded

    def widened(self, lo: float, hi: float) -> Span:
        """The hull of these numbers and what NumPy may give for them."""
        if math.isfinite(lo):
            lo = self.rounded(lo - abs(lo) * self.slack - self.least)
        if math.isfinite(hi):
            hi = self.rounded(hi + abs(hi) * self.slack + self.least)
        return Span(lo, hi, False)


_PRECISIONS: Final[dict[str, _Precision]] = {
    FLOAT16_NAME: _Precision(2.0**-7, 2.0**-20, to_float16),
    FLOAT32_NAME: _Precision(2.0**-20, 2.0**-140, to_float32),
    FLOAT64_NAME: _Precision(2.0**-48, 2.0**-1060, float),
}


def _is_finite(x: Span) -> bool:
    return x.lo > NINF and x.hi < INF


def _increasing(function: Callable[[float], float], low: float, high: float) -> Any:
    """The bounds of a function that is increasing from `low` to `high`."""

    def bounds(precision: _Precision) -> Bounds:
        def of(x: Span) -> Span:
            if not low <= x.lo <= x.hi <= high:
                return ANY
            return precision.widened(function(x.lo), function(x.hi))

        return of

    return bounds


def _exponential(precision: _Precision) -> Bounds:
    def of(x: Span) -> Span:
        return Span(0.0, precision.widened(0.0, math.exp(min(x.hi, 709.0))).hi, False)

    return lambda x: of(x) if x.hi < 709 else Span(0.0, INF, False)


def _limited(precision: _Precision) -> Bounds:
    return lambda x: precision.widened(-1.0, 1.0) if _is_finite(x) else ANY


def _exactly(function: Callable[[float], float]) -> Any:
    """The bounds of an increasing function whose result is exact."""

    def bounds(_precision: _Precision) -> Bounds:
        return lambda x: Span(function(x.lo), function(x.hi), False) if _is_finite(x) else ANY

    return bounds


def _as_for_doubles(of_doubles: Bounds) -> Any:
    def bounds(precision: _Precision) -> Bounds:
        def of(x: Span, y: Span) -> Span:
            found = of_doubles(x, y)
            return found if found.nan else precision.widened(found.lo, found.hi)

        return of

    return bounds


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x))


_POSITIVE: Final = 2.0**-1022
_BOUNDS: Final[dict[str, Any]] = {
    "sqrt": _increasing(math.sqrt, 0.0, INF),
    "log": _increasing(math.log, _POSITIVE, INF),
    "log2": _increasing(math.log2, _POSITIVE, INF),
    "log10": _increasing(math.log10, _POSITIVE, INF),
    "log1p": _increasing(math.log1p, 0.0, INF),
    "arctan": _increasing(math.atan, NINF, INF),
    "tanh": _increasing(math.tanh, NINF, INF),
    "exp": _exponential,
    "sin": _limited,
    "cos": _limited,
    "rint": _exactly(_whole(round)),
    "trunc": _exactly(_whole(math.trunc)),
    "floor": _exactly(_whole(math.floor)),
    "ceil": _exactly(_whole(math.ceil)),
    "maximum": _as_for_doubles(MAXIMUM_BOUNDS),
    "minimum": _as_for_doubles(MINIMUM_BOUNDS),
    "divide": _as_for_doubles(QUOTIENT_BOUNDS),
}

# ---------------------------------------------------------------------- functions

OPERATOR_POWER: Final = "operator_power"
"""`x ** y` of scalars, which differs from `np.power(x, y)` in the last bits."""

UNARY: Final = (
    *("sqrt", "cbrt", "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "reciprocal"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
    *("rint", "trunc", "floor", "ceil", "sign"),
)
BINARY: Final = (
    *("divide", "floor_divide", "remainder", "fmod", "power", "maximum", "minimum"),
    *("fmax", "fmin", "hypot", "arctan2", "copysign", OPERATOR_POWER),
)


def _function(name: str, takes: str, precision: str) -> Op:
    def value(*operands: Any) -> float:
        numpy = import_module("numpy")
        scalar = getattr(numpy, precision)
        numbers = [scalar(x) for x in operands]
        function = operator.pow if name == OPERATOR_POWER else getattr(numpy, name)
        return float(function(*numbers))

    row = f"np_{name}_{precision}"
    value.__name__ = value.__qualname__ = row
    return Op(
        row,
        takes,
        REAL,
        value=value,
        bounds=_bounds(name, _PRECISIONS[precision]),
        python=f"numpy_ops[{row!r}]({{*, }})",
    )


def _bounds(name: str, precision: _Precision) -> Bounds:
    """The bounds of a function, whose operands are rounded first."""
    if name not in _BOUNDS:
        return lambda *_: ANY
    rounded = precision.rounded
    of: Bounds = _BOUNDS[name](precision)
    return lambda *spans: of(*[Span(rounded(s.lo), rounded(s.hi), False) for s in spans])


def _round(precision: str) -> Op:
    def value(x: float, digits: int) -> float:
        numpy = import_module("numpy")
        return float(numpy.round(getattr(numpy, precision)(x), int(digits)))

    row = f"np_round_{precision}"
    value.__name__ = value.__qualname__ = row
    return Op(
        row,
        "ri",
        REAL,
        value=value,
        bounds=lambda *_: ANY,
        python=f"numpy_ops[{row!r}]({{0}}, {{1}})",
    )


FUNCTIONS: Final[dict[tuple[str, str], Op]] = {
    **{(name, p): _function(name, "r", p) for name in UNARY for p in _PRECISIONS},
    **{(name, p): _function(name, "rr", p) for name in BINARY for p in _PRECISIONS},
    **{("round", p): _round(p) for p in _PRECISIONS},
}
ROWS: Final[dict[str, Op]] = {row.name: row for row in (*ROUNDINGS.values(), *FUNCTIONS.values())}
VALUES: Final[dict[str, Callable[..., float]]] = {name: row.value for name, row in ROWS.items()}
"""What `numpy_ops` is in generated code."""
