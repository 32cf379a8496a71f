"""The table of the further functions of Python's `math`, made from the names of the functions.

Little is known of them: some have bounds, and none a term for z3. What raises ValueError for some
operands has a second row, the condition `in_domain_<name>`. Integers beyond `MAX_BITS` bits are
refused, as in `op_integer.py`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from anyshape.domain import INF, NINF, Interval
from anyshape.expr.table.op_function import down, up
from anyshape.expr.table.op_integer import MAX_BITS
from anyshape.expr.table.op_real import ANY, Span
from anyshape.expr.table.row import CONDITION, INTEGER, REAL, Op

if TYPE_CHECKING:
    from collections.abc import Callable


def _widened(lo: float, hi: float) -> Span:
    return Span(down(lo), up(hi), False)


def _largest(*spans: Any) -> Any:
    """The largest magnitude within the bounds."""
    return max(max(abs(s.lo), abs(s.hi)) for s in spans)


# ---------------------------------------------------------------------- floats


def _increasing(function: Callable[[float], float]) -> Callable[[Span], Span]:
    """The bounds of a function that increases wherever it is defined."""

    def bounds(x: Span) -> Span:
        try:
            return _widened(function(x.lo), function(x.hi))
        except (ArithmeticError, ValueError):
            return ANY

    return bounds


def _within(limit: float) -> Callable[..., Span]:
    return lambda *_spans: _widened(-limit, limit)


def _at_most_first(x: Span, _y: Span) -> Span:
    """The bounds of a result that is no larger than the first operand; infinity has none."""
    largest = _largest(x)
    return Span(-largest, largest, False) if largest < INF else ANY


def _of_magnitude(x: Span, _sign: Span) -> Span:
    return Span(-_largest(x), _largest(x), False)


def _norm(*spans: Span) -> Span:
    return _widened(0.0, math.fsum(map(_largest, spans))) if _largest(*spans) < 1e300 else ANY


def _sum(*spans: Span) -> Span:
    if _largest(*spans) >= 1e300:
        return ANY
    return _widened(math.fsum(s.lo for s in spans), math.fsum(s.hi for s in spans))


_INCREASING: Final = (
    *("asin", "asinh", "atan", "atanh", "cbrt", "degrees", "erf", "exp2", "expm1", "log1p"),
    *("radians", "sinh", "tanh", "acosh"),
)
_BOUNDS: Final[dict[str, Callable[..., Span]]] = {
    **{name: _increasing(getattr(math, name)) for name in _INCREASING},
    "acos": lambda _x: _widened(0.0, math.pi),
    "atan2": _within(math.pi),
    "copysign": _of_magnitude,
    "erfc": lambda _x: _widened(0.0, 2.0),
    "fmod": _at_most_first,
    "fsum": _sum,
    "hypot": _norm,
    "modf_fraction": _within(1.0),
    "modf_whole": lambda x: Span(x.lo - 1.0, x.hi + 1.0, False),
    "remainder": _at_most_first,
}

# ---------------------------------------------------------------------- integers


def _divisor(*operands: Interval) -> Interval:
    """A common divisor divides each operand that is not 0."""
    nonzero = [_largest(x) for x in operands if not x.lo <= 0 <= x.hi]
    return Interval(0, min(nonzero) if nonzero else _largest(*operands))


def _natural(*_operands: Interval) -> Interval:
    return Interval(0, INF)


def _positive(_n: Interval) -> Interval:
    return Interval(1, INF)


def _exponent(_x: Span) -> Interval:
    return Interval(-1073, 1024)


def _limited(name: str, n: int, k: int) -> None:
    """Refuse a product of `k` factors of at most `n` that has an absurd size."""
    if n.bit_length() * k > MAX_BITS:
        raise OverflowError(f"a result of math.{name} of more than {MAX_BITS} bits")


def _factorial(n: int) -> int:
    _limited("factorial", n, n)
    return math.factorial(n)


def _combinations(n: int, k: int) -> int:
    _limited("comb", n, min(k, n - k))
    return math.comb(n, k)


def _permutations(n: int, k: int) -> int:
    _limited("perm", n, min(k, n))
    return math.perm(n, k)


def _multiple(*operands: int) -> int:
    if sum(n.bit_length() for n in operands) > MAX_BITS:
        raise OverflowError(f"a result of math.lcm of more than {MAX_BITS} bits")
    return math.lcm(*operands)


_SUMPROD: Final[Any] = getattr(math, "sumprod", None)  # of Python 3.12

# ---------------------------------------------------------------------- the rows

_VALUES: Final[dict[str, Callable[..., Any]]] = {
    "comb": _combinations,
    "factorial": _factorial,
    "frexp_exponent": lambda x: math.frexp(x)[1],
    "frexp_mantissa": lambda x: math.frexp(x)[0],
    "fsum": lambda *xs: math.fsum(xs),
    "lcm": _multiple,
    "modf_fraction": lambda x: math.modf(x)[0],
    "modf_whole": lambda x: math.modf(x)[1],
    "perm": _permutations,
    "sumprod": lambda *xs: float(_SUMPROD(xs[: len(xs) // 2], xs[len(xs) // 2 :])),
}

_REALS: Final = {
    **dict.fromkeys(
        (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cosh", "degrees", "erf"),
            *("erfc", "exp2", "expm1", "fabs", "frexp_mantissa", "gamma", "lgamma", "log1p"),
            *("modf_fraction", "modf_whole", "radians", "sinh", "tanh", "ulp"),
        ),
        "r",
    ),
    **dict.fromkeys(("atan2", "copysign", "fmod", "nextafter", "remainder"), "rr"),
    "fma": "rrr",
    "fsum": "r*",
    "hypot": "r*",
    "ldexp": "ri",
    "sumprod": "r*",
}
_INTEGERS: Final[dict[str, tuple[str, Callable[..., Interval]]]] = {
    "comb": ("ii", _natural),
    "factorial": ("i", _positive),
    "frexp_exponent": ("r", _exponent),
    "gcd": ("i*", _divisor),
    "lcm": ("i*", _natural),
    "perm": ("ii", _natural),
}
REFUSED: Final[dict[str, tuple[Any, ...]]] = {
    "acos": (2.0,),
    "acosh": (0.0,),
    "asin": (2.0,),
    "atanh": (2.0,),
    "comb": (-1, 1),
    "factorial": (-1,),
    "fma": (INF, 0.0, 0.0),
    "fmod": (1.0, 0.0),
    "fsum": (INF, NINF),
    "gamma": (0.0,),
    "lgamma": (0.0,),
    "log1p": (-1.0,),
    "perm": (-1, 1),
    "remainder": (1.0, 0.0),
}
"""Operands for which Python raises ValueError, of each function that has some."""

_OVERFLOWS: Final = ("cosh", "exp2", "expm1", "lcm", "ldexp", "sinh", "sumprod")


def _is_finite(*spans: Any) -> bool:
    return bool(_largest(*spans) < INF)


def _is_natural(*operands: Any) -> bool:
    return all(x.lo >= 0 for x in operands)


def _can_divide(x: Any, y: Any) -> bool:
    return _is_finite(x) and not y.lo <= 0 <= y.hi


def _is_positive(x: Any) -> bool:
    return bool(x.lo > 0)


_DEFINED: Final[dict[str, Callable[..., bool]]] = {
    "acos": lambda x: _largest(x) <= 1,
    "acosh": lambda x: x.lo >= 1,
    "asin": lambda x: _largest(x) <= 1,
    "atanh": lambda x: _largest(x) < 1,
    "comb": _is_natural,
    "factorial": _is_natural,
    "fma": _is_finite,
    "fmod": _can_divide,
    "fsum": _is_finite,
    "gamma": _is_positive,
    "lgamma": _is_positive,
    "log1p": lambda x: x.lo > -1,
    "perm": _is_natural,
    "remainder": _can_divide,
}
"""Where the bounds of the operands show that Python does not raise ValueError."""


def _function(name: str, takes: str, gives: str, bounds: Callable[..., Any]) -> Op:
    return Op(
        name,
        takes,
        gives,
        value=_VALUES.get(name) or getattr(math, name),
        bounds=bounds,
        partial=_always if name in REFUSED or name in _OVERFLOWS else None,
        python=f"math_ops[{name!r}]({{*, }})",
    )


def _always(*_bounds: Any) -> bool:
    return True


def _domain(row: Op) -> Op:
    def value(*operands: Any) -> bool:
        try:
            row.value(*operands)
        except ValueError:
            return False
        except OverflowError:
            return True
        return True

    name = f"in_domain_{row.name}"
    defined = _DEFINED[row.name]
    return Op(
        name,
        row.takes,
        CONDITION,
        value=value,
        truth=lambda *spans: True if defined(*spans) else None,
        python=f"math_ops[{name!r}]({{*, }})",
    )


def _any(*_spans: Span) -> Span:
    return ANY


FUNCTIONS: Final[dict[str, Op]] = {
    **{
        name: _function(name, takes, REAL, _BOUNDS.get(name, _any))
        for name, takes in _REALS.items()
        if hasattr(math, name.partition("_")[0])
    },
    **{
        name: _function(name, takes, INTEGER, bounds) for name, (takes, bounds) in _INTEGERS.items()
    },
}
DOMAINS: Final = {name: _domain(FUNCTIONS[name]) for name in REFUSED if name in FUNCTIONS}
"""The conditions under which a function has a value, by the name of the function."""

ROWS: Final[dict[str, Op]] = {row.name: row for row in (*FUNCTIONS.values(), *DOMAINS.values())}
VALUES: Final[dict[str, Callable[..., Any]]] = {name: row.value for name, row in ROWS.items()}
"""What `math_ops` is in generated code."""
