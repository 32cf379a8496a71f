"""Expressions as text in which every part that is no symbol goes by a short name.

The text of a part is made of the names of older parts, so that it is short, and reading it back
makes just that part and nothing on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.expr import boolean
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.op import CHOICE, FLOORDIV, GROUP, MAXIMUM, POWER, SYMBOL
from anyshape.expr.real import CONST, RATIO
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.rebuild import rebuild
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.expr.node import Operand

_RELATIONS: Final = {boolean.GE: "<=", boolean.EQ: "==", boolean.NE: "!="}
_SIGNS: Final = {"add": "+", "sub": "-", "mul": "*", "div": "/", RATIO: "/"}


class Namer:
    """Writes expressions with the places of their parts as names."""

    def __init__(self, places: dict[Atom, int]) -> None:
        self.places = places

    def text(self, operand: Operand) -> str:
        """The text of an expression, a condition or a real."""
        if type(operand) is Expr:
            return self._sum(operand)
        return self._condition(operand) if type(operand) is Bool else self._real(operand)

    def _name(self, atom: Atom) -> str:
        return atom.name if atom.op is SYMBOL else f"a{self.places[atom]}"

    def _sum(self, e: Expr) -> str:
        pieces = []
        for atom, k in sorted(terms(e).items(), key=lambda item: item[0].index):
            factor = "" if abs(k) == 1 else f"{abs(k)}*"
            pieces.append(f"{'-' if k < 0 else '+'} {factor}{self._name(atom)}")
        if e.c or not pieces:
            pieces.append(f"{'-' if e.c < 0 else '+'} {abs(e.c)}")
        text = " ".join(pieces)
        return text[2:] if text[0] == "+" else f"-{text[2:]}"

    def atom(self, atom: Atom) -> str:
        """The text of what an atom is; not for symbols and products."""
        op = atom.op
        args = [self.text(a) for a in atom.args]
        if op is FLOORDIV:
            return f"({args[0]}) // ({args[1]})"
        if op is POWER:
            return f"({args[0]})**({args[1]})"
        if op is GROUP or (op is MAXIMUM and rebuild(atom, atom.args) is not atom.node):
            return f'raw("{op.name}", {", ".join(args)})'
        if op is MAXIMUM:
            return f"max(0, {', '.join(args)})"
        if op is CHOICE:
            return f"ite({', '.join(args)}, 0)"
        return f"{op.name}({', '.join(args)})"

    def _condition(self, b: Any) -> str:
        op = b.op
        if op in _RELATIONS:
            return f"0 {_RELATIONS[op]} {self._sum(b.expr)}"
        if op in (boolean.TRUE, boolean.FALSE):
            return str(op).capitalize()
        if op == boolean.REAL:
            sign, left, right = b.args
            return f"({self._real(left)}) {sign} ({self._real(right)})"
        if op == boolean.NOT:
            return f"not ({self._condition(b.args[0])})"
        return f" {op} ".join(f"({self._condition(part)})" for part in b.args)

    def _real(self, r: Any) -> str:
        if r.op == CONST:
            return repr(r.args[0])
        if r.op == REAL_SYMBOL:
            return str(r.args[0])
        args = [self.text(a) for a in r.args]
        if r.op in _SIGNS:
            return f"({args[0]}) {_SIGNS[r.op]} ({args[1]})"
        return f"-({args[0]})" if r.op == "neg" else f"{r.op}({', '.join(args)})"
