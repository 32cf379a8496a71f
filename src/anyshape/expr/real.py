"""Floating-point expressions: what `SymFloat` is made of.

A `Real` is an interned tree with IEEE double semantics, evaluated exactly as Python does. Its
bounds use that each basic operation is correctly rounded, hence monotone: the results at the ends
of the operands' intervals bound all results. `nan` says that the value may be not a number.
Rounding to an integer gives an atom, see `anyshape.expr.opaque`.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain.bound import INF, NINF
from anyshape.expr.name import check_name
from anyshape.expr.node import Interned

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.domain.bound import Bound
    from anyshape.expr.node import Expr
    from anyshape.expr.pool import Pool


class Span(NamedTuple):
    """The doubles from `lo` to `hi`, and NaN when `nan`."""

    lo: float
    hi: float
    nan: bool


ANY: Final = Span(NINF, INF, True)

CONST: Final = "const"
SYMBOL: Final = "symbol"
FLOAT: Final = "float"
RATIO: Final = "ratio"


class Real(Interned):
    """One interned floating-point expression.

    `args` are the operands: reals; expressions for `float` (conversion) and `ratio` (true division
    of integers); a Python float for `const`; the name for `symbol`.
    """

    __slots__ = ("args", "hint", "index", "op", "pool", "span")

    pool: Pool
    op: str
    args: tuple[Any, ...]
    index: int
    span: Span
    hint: float | None

    def __repr__(self) -> str:
        from anyshape.expr.show import brief  # noqa: PLC0415  a printer is no part of a node

        return brief(self)


EVALUATE: Final[dict[str, Callable[..., float]]] = {
    FLOAT: float,
    RATIO: operator.truediv,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "sqrt": math.sqrt,
    "pow": math.pow,
}


def _intern(pool: Pool, op: str, args: tuple[Any, ...], span: Span, hint: float | None) -> Real:
    key = (op, *args) if op != CONST else (op, args[0].hex())
    node = pool.reals.get(key)
    if node is None:
        node = Real.__new__(Real)
        node.pool = pool
        node.op = op
        node.args = args
        node.index = pool.next_index()
        node.span = span
        node.hint = hint
        pool.reals[key] = node
    return node


def real_const(pool: Pool, value: float) -> Real:
    """The constant `value`."""
    nan = math.isnan(value)
    return _intern(pool, CONST, (value,), ANY if nan else Span(value, value, False), value)


def real_symbol(pool: Pool, name: str, hint: float | None, span: Span = ANY) -> Real:
    """A new named real; the name must be an identifier that is free."""
    check_name(pool, name)
    node = _intern(pool, SYMBOL, (name,), span, hint)
    pool.by_name[name] = node
    return node


def apply(op: str, *args: Any) -> Real:
    """The application of `op` to reals (or, for `float` and `ratio`, to expressions)."""
    pool: Pool = args[0].pool
    if op == RATIO and args[1].is_const and args[1].c == 1:
        op, args = FLOAT, args[:1]
    hints = [a.hint for a in args]
    hint = None if None in hints else _value(op, hints)
    if hint is not None and all(_is_const(a) for a in args):
        return real_const(pool, hint)
    return _intern(pool, op, args, span_of(op, [_span(a) for a in args]), hint)


def _is_const(operand: Expr | Real) -> bool:
    return operand.op == CONST if isinstance(operand, Real) else operand.is_const


def _value(op: str, hints: list[Any]) -> float | None:
    """The value at the hints; None where Python would raise."""
    try:
        return EVALUATE[op](*hints)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def _span(operand: Expr | Real) -> Span:
    if isinstance(operand, Real):
        return operand.span
    return Span(_to_float(operand.lo), _to_float(operand.hi), False)


def _to_float(bound: Bound) -> float:
    try:
        return float(bound)
    except OverflowError:
        return INF if bound > 0 else NINF


_CORNERS: Final = frozenset(("add", "sub", "mul", "div", RATIO))
_EXACT: Final = 2.0**53
_SLACK: Final = 2.0**-50


def span_of(op: str, spans: list[Span]) -> Span:
    """The span of `op` over operands in the given spans; ANY where that is not simple."""
    if any(s.nan for s in spans):
        return ANY
    first = spans[0]
    if op == FLOAT:
        return first
    if op == "neg":
        return Span(-first.hi, -first.lo, False)
    if op == "abs":
        low = 0.0 if first.lo <= 0 <= first.hi else min(abs(first.lo), abs(first.hi))
        return Span(low, max(abs(first.lo), abs(first.hi)), False)
    if op == "sqrt" and first.lo >= 0:
        return Span(math.sqrt(first.lo), math.sqrt(first.hi), False)
    if op in _CORNERS:
        return _corners(op, first, spans[1])
    return ANY


def _corners(op: str, a: Span, b: Span) -> Span:
    """The hull of the four corner results of a monotone op; ANY where one may be undefined."""
    if op == "mul" and ((_has_zero(a) and _has_infinity(b)) or (_has_zero(b) and _has_infinity(a))):
        return ANY
    if op == RATIO:
        return _ratio(a, b)
    if op == "div" and _has_zero(b):
        return ANY
    function = EVALUATE[op]
    results = [function(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    if any(math.isnan(r) for r in results):
        return ANY
    return Span(min(results), max(results), False)


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


def _has_zero(a: Span) -> bool:
    return a.lo <= 0 <= a.hi


def _has_infinity(a: Span) -> bool:
    return a.lo == NINF or a.hi == INF
