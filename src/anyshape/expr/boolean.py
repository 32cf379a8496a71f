"""Conditions over expressions: relations with zero, and/or, comparisons with reals.

Invariants
    * Interned per pool: `is` is structural equality. `and`/`or` are flat and without order.
    * The integer relations are `e >= 0`, `e == 0` and `e != 0` only, so that each has its negation
      in the same set: not (e >= 0) is (-e - 1 >= 0). Negations are pushed to the leaves; only a
      comparison with a real keeps a `not` (a NaN makes both `a < b` and `a >= b` false).
    * Constructors fold what is a constant by structure, also `b and not b` and `b or not b`; they
      never look at bounds.
    * The operands of `and`/`or` know their negations, so a negation is one step, however deep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr.node import STALE, Expr, Interned
from anyshape.expr.order import is_negative
from anyshape.expr.table.op_condition import (
    AND,
    EQ,
    FALSE,
    GE,
    NE,
    NOT,
    OR,
    REAL,
    RELATIONS,
    TRUE,
)
from anyshape.expr.table.row import builds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.pool import Pool
    from anyshape.expr.real import Real
    from anyshape.expr.table.row import Op

__all__ = [
    "AND",
    "EQ",
    "FALSE",
    "GE",
    "NE",
    "NOT",
    "OR",
    "REAL",
    "RELATIONS",
    "TRUE",
    "Bool",
    "conj",
    "constant",
    "disj",
    "eq0",
    "false",
    "ge0",
    "make_comparison",
    "make_condition",
    "ne0",
    "negate",
    "relation",
    "true",
]


class Bool(Interned):
    """One interned condition.

    `args` are the operands; the `data` of a comparison of reals is its sign. Only a relation has an
    `expr`: what it compares with zero. `opposite` is the negation once that was asked for.
    `answer` belongs to the environment of the pool, which memoizes its answer there; nothing in
    this package reads it. A table instead makes a new question a quarter slower.
    """

    __slots__ = (
        "answer",
        "args",
        "data",
        "expr",
        "index",
        "op",
        "opposite",
        "pool",
    )

    pool: Pool
    op: Op
    args: tuple[Any, ...]
    data: tuple[str, ...]
    expr: Expr
    index: int
    opposite: Bool | None
    answer: tuple[int, bool | None, object] | None

    @property
    def hint(self) -> bool | None:
        """The truth under the hints of the symbols, or None where a hint is missing."""
        if self.op in RELATIONS:
            e = self.expr
            value = e.quick_hint
            if value is None and e.version == STALE:
                value = e.hint
            return None if value is None else bool(self.op.value(value))
        hints: dict[Bool, bool] = {}
        stack: list[Bool] = [self]
        while stack:
            b = stack[-1]
            missing = [part for part in b.args if type(part) is Bool and part not in hints]
            if missing:
                stack.extend(missing)
                continue
            values = [hints[part] if type(part) is Bool else part.hint for part in b.args]
            truth = _hint(b, values)
            if truth is None:  # then everything above has none
                return None
            hints[b] = truth
            stack.pop()
        return hints[self]

    def __repr__(self) -> str:
        from anyshape.expr.text.show import brief  # noqa: PLC0415  a printer is no part of a node

        return brief(self)


def _hint(b: Bool, values: list[Any]) -> bool | None:
    """The truth at the operands' hints; None where one is missing or Python would raise."""
    if None in values:
        return None
    try:
        return bool(b.op.value(*values, *b.data))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def _intern(pool: Pool, op: Op, args: tuple[Any, ...], key: object) -> Bool:
    node = pool.bools.get(key)
    return _new(pool, op, args, key) if node is None else node


def _new(
    pool: Pool, op: Op, args: tuple[Any, ...], key: object, data: tuple[str, ...] = ()
) -> Bool:
    node = Bool.__new__(Bool)
    node.pool = pool
    node.op = op
    node.args = args
    node.data = data
    pool.count = node.index = pool.count + 1
    node.opposite = None
    node.answer = None
    pool.bools[key] = node
    return node


def make_condition(op: Op, *operands: Any) -> Bool:
    """`op(operands)` for an op without a constructor of its own."""
    return _intern(operands[0].pool, op, operands, (op, operands))


def true(pool: Pool) -> Bool:
    """The condition that always holds."""
    return _intern(pool, TRUE, (), TRUE)


def false(pool: Pool) -> Bool:
    """The condition that never holds."""
    return _intern(pool, FALSE, (), FALSE)


def constant(pool: Pool, value: bool) -> Bool:
    """The condition that is `value`."""
    return true(pool) if value else false(pool)


@builds(GE)
def ge0(e: Expr) -> Bool:
    """The condition `e >= 0`."""
    pool = e.pool
    key = (GE, e)
    node = pool.bools.get(key)
    if node is not None:
        return node
    if e.is_const:
        return constant(pool, e.c >= 0)
    node = _new(pool, GE, (e,), key)
    node.expr = e
    return node


@builds(EQ)
def eq0(e: Expr) -> Bool:
    """The condition `e == 0`."""
    return _equality(e, EQ)


@builds(NE)
def ne0(e: Expr) -> Bool:
    """The condition `e != 0`."""
    return _equality(e, NE)


def _equality(e: Expr, op: Op) -> Bool:
    """`e == 0` or `e != 0`, with the sign of `e` that makes its leading coefficient positive."""
    pool = e.pool
    key = (op, e)
    node = pool.bools.get(key)
    if node is not None:
        return node
    if e.is_const:
        return constant(pool, (e.c == 0) is (op == EQ))
    if is_negative(e):
        e = -e
        key = (op, e)
        node = pool.bools.get(key)
        if node is not None:
            return node
    node = _new(pool, op, (e,), key)
    node.expr = e
    return node


def relation(op: Op, e: Expr) -> Bool:
    """The relation `op` of `e` with zero: GE, EQ or NE."""
    return ge0(e) if op is GE else _equality(e, op)


def make_comparison(sign: str, left: Expr | Real, right: Expr | Real) -> Bool:
    """The comparison `left sign right` as it stands, `sign` one of == != < <=.

    For `anyshape.expr.constructor.comparison`, which finds simpler forms.
    """
    pool = left.pool
    key = (REAL, sign, left, right)
    node = pool.bools.get(key)
    return _new(pool, REAL, (left, right), key, (sign,)) if node is None else node


def conj(pool: Pool, operands: Iterable[Bool]) -> Bool:
    """The conjunction of the operands; true when there is none."""
    return _junction(pool, operands, AND, FALSE, TRUE)


def disj(pool: Pool, operands: Iterable[Bool]) -> Bool:
    """The disjunction of the operands; false when there is none."""
    return _junction(pool, operands, OR, TRUE, FALSE)


@builds(AND)
def _and(*operands: Bool) -> Bool:
    return conj(operands[0].pool, operands)


@builds(OR)
def _or(*operands: Bool) -> Bool:
    return disj(operands[0].pool, operands)


def _junction(pool: Pool, operands: Iterable[Bool], op: Op, absorbing: Op, unit: Op) -> Bool:
    flat: dict[Bool, None] = {}
    for b in operands:
        parts: tuple[Bool, ...] = b.args if b.op == op else (b,)
        for part in parts:
            if part.op == absorbing:
                return part
            if part.op != unit:
                flat[part] = None
    for part in flat:
        opposite = negate(part)
        if all(q in flat for q in (opposite.args if opposite.op == op else (opposite,))):
            return constant(pool, absorbing == TRUE)
    if len(flat) < 2:
        return next(iter(flat), constant(pool, unit == TRUE))
    args = tuple(sorted(flat, key=lambda b: b.index))
    return _intern(pool, op, args, (op, frozenset(args)))


@builds(NOT)
def negate(b: Bool) -> Bool:
    """The condition that holds exactly where `b` does not."""
    opposite = b.opposite
    if opposite is None:
        b.opposite = opposite = _negation(b)
        opposite.opposite = b
    return opposite


def _negation(b: Bool) -> Bool:
    op = b.op
    if op == GE:
        return ge0(-(b.expr.shift(1)))
    if op == EQ:
        return ne0(b.expr)
    if op == NE:
        return eq0(b.expr)
    if op == AND:
        return disj(b.pool, [negate(part) for part in b.args])
    if op == OR:
        return conj(b.pool, [negate(part) for part in b.args])
    if op in (TRUE, FALSE):
        return constant(b.pool, op == FALSE)
    return _intern(b.pool, NOT, (b,), (NOT, b))
