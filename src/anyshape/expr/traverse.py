"""Walks over expressions without recursion: everything below an operand, its atoms, its symbols.

What is below an atom, a condition or a real has a smaller index, so "all nodes needed, in
increasing index" is an order in which operands come first. Every analysis that folds over an
expression uses it, and none can hit the recursion limit.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from anyshape.expr.boolean import Bool
from anyshape.expr.node import Atom, Expr
from anyshape.expr.real import Real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.node import Operand

    Node = Atom | Bool | Real

_NODES: Final = (Atom, Bool, Real)


def nodes_below(operands: Iterable[Operand | Atom]) -> list[Node]:
    """All atoms, conditions and reals below the operands, operands before what is made of them."""
    found: set[Node] = set()
    stack: list[object] = list(operands)
    while stack:
        item = stack.pop()
        if type(item) is Expr:
            stack.extend(terms(item))
        elif isinstance(item, _NODES) and item not in found:
            found.add(item)
            stack.extend(item.args)
    return sorted(found, key=attrgetter("index"))


def reals_below(r: Real | Expr) -> list[Real]:
    """The reals that `r` is made of and `r`, operands first, without those inside its integers."""
    found: set[Real] = set()
    stack: list[object] = [r]
    while stack:
        item = stack.pop()
        if type(item) is Real and item not in found:
            found.add(item)
            stack.extend(item.args)
    return sorted(found, key=attrgetter("index"))


def is_longer(operand: Operand, most: int) -> bool:
    """Whether there are more than `most` atoms, conditions and reals below an operand."""
    found: set[object] = set()
    stack: list[object] = [operand]
    while stack and len(found) <= most:
        item = stack.pop()
        if type(item) is Expr:
            stack.extend(terms(item))
        elif isinstance(item, _NODES) and item not in found:
            found.add(item)
            stack.extend(item.args)
    return len(found) > most


def atoms_below(*operands: Operand | Atom) -> list[Atom]:
    """All atoms below the operands, operands of an atom before the atom."""
    return [n for n in nodes_below(operands) if type(n) is Atom]


def symbols_of(*operands: Operand | Atom) -> list[Atom]:
    """The integer symbols below the operands, oldest first."""
    return [n for n in nodes_below(operands) if type(n) is Atom and n.op is SYMBOL]


def names_of(*operands: Operand | Atom) -> list[str]:
    """The names of the symbols below the operands, integers and reals, oldest first."""
    found: list[Any] = [node for node in nodes_below(operands) if node.op is SYMBOL]
    return [node.name for node in found]


def ancestors_of(atom: Atom) -> list[Atom]:
    """The atom, and the atoms that are made of it."""
    found = {atom: None}
    stack = [atom]
    while stack:
        for parent in stack.pop().parents:
            if parent not in found:
                found[parent] = None
                stack.append(parent)
    return list(found)
