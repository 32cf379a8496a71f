"""Floating-point expressions: what `SymFloat` is made of.

A `Real` is an interned tree of the ops of `anyshape.expr.table.op_real`, with a span that holds its
value and with its value at the hints. Rounding to an integer gives an atom, see
`anyshape.expr.constructor.rounding`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from anyshape.domain.bound import INF, NINF
from anyshape.expr.name import check_name
from anyshape.expr.node import Interned
from anyshape.expr.table.op import OPS
from anyshape.expr.table.op_integer import SYMBOL
from anyshape.expr.table.op_real import ANY, CONST, FLOAT, RATIO, Span, span_of
from anyshape.expr.table.row import Op, builds
from anyshape.expr.terms import refresh

if TYPE_CHECKING:
    from anyshape.domain.bound import Bound
    from anyshape.expr.node import Expr
    from anyshape.expr.pool import Pool

__all__ = [
    "ANY",
    "CONST",
    "FLOAT",
    "RATIO",
    "SYMBOL",
    "Real",
    "Span",
    "apply",
    "fresh_span",
    "make_real",
    "ratio",
    "real_const",
    "real_symbol",
    "span",
    "span_of",
]

_new: Final = tuple.__new__  # what a named tuple does in Python, done in C


class Real(Interned):
    """One interned floating-point expression.

    `args` are the operands: reals; expressions for `float` (conversion) and `ratio` (true division
    of integers); a Python float for `const`; the name for `symbol`.
    """

    __slots__ = ("args", "hint", "index", "op", "pool", "span")

    data: ClassVar[tuple[int, ...]] = ()

    pool: Pool
    op: Op
    args: tuple[Any, ...]
    index: int
    span: Span
    hint: float | None

    @property
    def name(self) -> str:
        """The name of a symbol."""
        return str(self.args[0])

    @property
    def constant(self) -> float | None:
        """The value of a constant, None for anything else."""
        return self.hint if self.op is CONST else None

    def __repr__(self) -> str:
        from anyshape.expr.text.show import brief  # noqa: PLC0415  a printer is no part of a node

        return brief(self)


def _make(
    pool: Pool, key: object, op: Op, args: tuple[Any, ...], span: Span, hint: float | None
) -> Real:
    """A new real under a key that is not taken."""
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
    key = (CONST, value.hex())
    known = pool.reals.get(key)
    if known is not None:
        return known
    span = ANY if math.isnan(value) else Span(value, value, False)
    return _make(pool, key, CONST, (value,), span, value)


def real_symbol(pool: Pool, name: str, hint: float | None, span: Span = ANY) -> Real:
    """A new named real; the name must be an identifier that is free."""
    check_name(pool, name)
    node = _make(pool, (SYMBOL, name), SYMBOL, (name,), span, hint)
    pool.by_name[name] = node
    return node


def apply(op: Op | str, *args: Any) -> Real:
    """The application of an op, or the op of that name, to reals and integers as its row says."""
    row = OPS[op] if isinstance(op, str) else op
    made: Real = row.build(*args) if row.build else make_real(row, *args)
    return made


def make_real(op: Op, *args: Any) -> Real:
    """`op(args)` for an op without a constructor of its own; constant operands fold to a float.

    `max(0, 0.0)` is an integer in Python and does not fold.
    """
    pool: Pool = args[0].pool
    key = (op, *args)
    known = pool.reals.get(key)
    if known is not None:
        return known
    hints = [a.hint for a in args]
    hint = None if None in hints else _value(op, hints)
    if type(hint) is float and all(_is_const(a) for a in args):
        return real_const(pool, hint)
    return _make(pool, key, op, args, span_of(op, [span(a) for a in args]), hint)


@builds(RATIO)
def ratio(x: Expr, y: Expr) -> Real:
    """The true division of integers: x / 1 = float(x)."""
    return make_real(FLOAT, x) if y.is_const and y.c == 1 else make_real(RATIO, x, y)


def _is_const(operand: Expr | Real) -> bool:
    return operand.op is CONST if isinstance(operand, Real) else operand.is_const


def _value(op: Op, hints: list[Any]) -> float | None:
    """The value at the hints; None where Python would raise."""
    try:
        return op.value(*hints)  # type: ignore[no-any-return]  # as the row says
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def span(operand: Expr | Real) -> Span:
    """The span of a real, or of an integer as a float."""
    if isinstance(operand, Real):
        return operand.span
    return _new(Span, (_to_float(operand.lo), _to_float(operand.hi), False))


def fresh_span(r: Real) -> Span:
    """The span of a real, computed from the present bounds of its operands."""
    for operand in r.args:
        if not isinstance(operand, Real):
            refresh(operand)
    return span_of(r.op, [span(operand) for operand in r.args])


def _to_float(bound: Bound) -> float:
    try:
        return float(bound)
    except OverflowError:
        return INF if bound > 0 else NINF
