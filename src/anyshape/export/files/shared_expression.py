"""Expressions as text in which every part other than a symbol has a short name.

The text of a part consists of the names of older parts. So it is short, and reading it back makes
that part and nothing else.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from anyshape.expr.node import Expr
from anyshape.expr.rebuild import rebuild
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.text.bounded_text import ATOMIC, MULTIPLE, SUM, Layout, write

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Operand


class Namer:
    """Writes expressions with numbers as the names of their parts, in the order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[Atom, int] = {}

    def number(self, atom: Atom) -> int:
        """The number of a part."""
        return self._numbers.setdefault(atom, len(self._numbers))

    def text(self, operand: Operand) -> str:
        """The text of an expression, a condition or a real."""
        return write(operand, self._layout, sys.maxsize)[0]

    def atom(self, atom: Atom) -> str:
        """The definition of an atom as text. Symbols and products have no such text."""
        if rebuild(atom, atom.args) is not atom.node:
            return f'raw("{atom.op.name}", {", ".join(map(self.text, atom.args))})'
        return write(atom.op.layout(*atom.args, *atom.data), self._layout, sys.maxsize)[0]

    def _layout(self, node: Any) -> Layout:
        if type(node) is Expr:
            return self._sum(node)
        if node.op is SYMBOL:
            return Layout((node.name,), ATOMIC)
        made: Layout = node.op.layout(*node.args, *node.data)
        return made

    def _sum(self, e: Expr) -> Layout:
        pieces = []
        for atom, k in sorted(terms(e).items(), key=lambda item: item[0].index):
            factor = "" if abs(k) == 1 else f"{abs(k)}*"
            name = atom.name if atom.op is SYMBOL else f"a{self.number(atom)}"
            pieces.append(f"{'-' if k < 0 else '+'} {factor}{name}")
        if e.c or not pieces:
            pieces.append(f"{'-' if e.c < 0 else '+'} {abs(e.c)}")
        text = " ".join(pieces)
        if text[0] == "-" or len(pieces) > 1:
            return Layout((text[2:] if text[0] == "+" else f"-{text[2:]}",), SUM)
        return Layout((text[2:],), MULTIPLE if "*" in text else ATOMIC)
