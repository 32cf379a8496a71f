"""The value of an expression, a condition or a real, given values for its symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.expr.node import Expr
from anyshape.expr.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.expr.node import Operand


def evaluate(operand: Operand, values: Mapping[str, int | float]) -> Any:
    """The Python value of `operand` where each symbol has the value under its name.

    Raises what Python raises where an op is undefined (ZeroDivisionError, ValueError, ...), and
    KeyError for a symbol without a value.
    """
    known: dict[object, Any] = {}
    node: Any
    for node in nodes_below((operand,)):
        if node.op is SYMBOL:
            known[node] = values[node.name]
        else:
            known[node] = node.op.value(*[_operand(a, known) for a in node.args], *node.data)
    return _operand(operand, known)


def _operand(operand: Any, known: dict[object, Any]) -> Any:
    if type(operand) is Expr:
        return operand.c + sum(k * known[atom] for atom, k in terms(operand).items())
    return known.get(operand, operand)  # the operand of a constant is its value
