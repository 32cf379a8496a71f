"""The value of an expression: a fold over its parts, from the bottom up.

`evaluate` computes with Python's numbers. An `Interpreter` computes with values of any other kind,
such as symbolic numbers of another library or nodes of a graph, by functions that it is given.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from anyshape.expr.node import Expr
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anyshape.expr.node import Operand
    from anyshape.expr.table.row import Op


class Interpreter:
    """Computes expressions, each part once in the life of the interpreter.

    `symbol(name)` is the value of a symbol, `apply(op, *operands)` that of an op on the values of
    its operands, and then its data; `total(addends, c)` is the sum c + k*x + ... of pairs (k, x),
    oldest atom first.
    """

    def __init__(
        self,
        symbol: Callable[[str], Any],
        apply: Callable[..., Any],
        total: Callable[[list[tuple[int, Any]], int], Any],
    ) -> None:
        self._symbol = symbol
        self._apply = apply
        self._total = total
        self._known: dict[object, Any] = {}

    def __call__(self, operand: Operand) -> Any:
        """The value of an expression, a condition or a real."""
        known = self._known
        node: Any
        for node in nodes_below((operand,)):
            if node in known:
                continue
            if node.op is SYMBOL:
                known[node] = self._symbol(node.name)
            else:
                operands = [self._operand(a) for a in node.args]
                known[node] = self._apply(node.op, *operands, *node.data)
        return self._operand(operand)

    def _operand(self, operand: Any) -> Any:
        known = self._known
        if type(operand) is Expr and operand not in known:
            of_it = terms(operand)
            addends = [(of_it[atom], known[atom]) for atom in sorted(of_it, key=_AGE)]
            known[operand] = self._total(addends, operand.c)
        return known.get(operand, operand)  # the operand of a real constant is its value


_AGE = attrgetter("index")


def evaluate(operand: Operand, values: Mapping[str, int | float]) -> Any:
    """The Python value of `operand` where each symbol has the value under its name.

    Raises what Python raises where an op is undefined (ZeroDivisionError, ValueError, ...), and
    KeyError for a symbol without a value.
    """
    return Interpreter(values.__getitem__, _value, _sum)(operand)


def _value(op: Op, *operands: Any) -> Any:
    return op.value(*operands)


def _sum(addends: list[tuple[int, Any]], c: int) -> Any:
    return c + sum(k * x for k, x in addends)
