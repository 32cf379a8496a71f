"""The value of an expression, a condition or a real, given values for its symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr import boolean
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import COMPARE, SYMBOL
from anyshape.expr.real import CONST, EVALUATE, Real
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Operand


def evaluate(operand: Operand, values: Mapping[str, int | float]) -> Any:
    """The Python value of `operand` where each symbol has the value under its name.

    Raises what Python raises where an op is undefined (ZeroDivisionError, ValueError, ...), and
    KeyError for a symbol without a value.
    """
    known: dict[object, Any] = {}
    for node in nodes_below((operand,)):
        known[node] = _value(node, known, values)
    return _operand(operand, known)


def _operand(operand: Operand, known: dict[object, Any]) -> Any:
    if type(operand) is Expr:
        return operand.c + sum(k * known[atom] for atom, k in terms(operand).items())
    return known[operand]


def _value(node: Any, known: dict[object, Any], values: Mapping[str, int | float]) -> Any:
    if type(node) is Atom:
        if node.op is SYMBOL:
            return values[node.name]
        return node.op.evaluate([_operand(a, known) for a in node.args], node.data)
    if type(node) is Real:
        if node.op == CONST:
            return node.args[0]
        if node.op == REAL_SYMBOL:
            return values[node.args[0]]
        return EVALUATE[node.op](*(_operand(a, known) for a in node.args))
    return _truth(node, known)


def _truth(node: Bool, known: dict[object, Any]) -> bool:
    op = node.op
    if op in (boolean.TRUE, boolean.FALSE):
        return op == boolean.TRUE
    if op == boolean.REAL:
        sign, left, right = node.args
        return COMPARE[sign](_operand(left, known), _operand(right, known))
    values = [_operand(a, known) for a in node.args]
    if op == boolean.GE:
        return bool(values[0] >= 0)
    if op in (boolean.EQ, boolean.NE):
        return (values[0] == 0) is (op == boolean.EQ)
    if op == boolean.NOT:
        return not values[0]
    return all(values) if op == boolean.AND else any(values)
