"""Whether an atom has a value: Python raises for a division by zero and the like.

An atom is defined where no op in it may raise for operands within their ranges, or outside of their
excluded values: `u // v` is, once `v >= 1` or `v != 0` is known. What is defined stays so, because
ranges only tighten.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from anyshape.domain import Interval
from anyshape.env.knowledge.equality import form
from anyshape.env.ladder.reading import excludes_zero
from anyshape.env.ladder.real_comparison import span
from anyshape.expr.atom import direct_atoms
from anyshape.expr.boolean import Bool
from anyshape.expr.node import Expr
from anyshape.expr.real import Real
from anyshape.expr.real import span as rounded_span
from anyshape.expr.table.row import REAL
from anyshape.expr.terms import refresh
from anyshape.expr.traverse import atoms_below

if TYPE_CHECKING:
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr.node import Atom, Operand
    from anyshape.expr.table.row import Op


def has_value(k: Knowledge, atom: Atom) -> bool:
    """Whether an atom is defined, or a fact that bounds it speaks about it."""
    if is_defined(k, atom):
        return True
    facts = (k.blame.get((atom, end)) for end in (False, True))
    return any(fact is not None and atom in atoms_below(fact.condition) for fact in facts)


def is_defined(k: Knowledge, atom: Atom) -> bool:
    """Whether neither the atom nor anything inside it may raise."""
    known = k.definedness.get(atom)
    if known is not None and (known[1] or known[0] == k.version):
        return known[1]
    found: set[Atom] = set()
    stack = [atom]
    while stack:
        a = stack.pop()
        known = k.definedness.get(a)
        if a in found or (known is not None and known[1]):
            continue
        if any(_may_raise(k, node) for node in _nodes_of(a)):
            k.definedness[a] = k.definedness[atom] = (k.version, False)
            return False
        found.add(a)
        stack.extend(direct_atoms(a.args))
    for a in found:
        k.keep(k.definedness, a, (k.version, True))
    return True


def became_defined(k: Knowledge, atom: Atom) -> bool:
    """Whether an atom is defined that was found not to be."""
    known = k.definedness.get(atom)
    return known is not None and not known[1] and is_defined(k, atom)


def _nodes_of(atom: Atom) -> list[Atom | Bool | Real]:
    """The atom, and the conditions and reals between it and the atoms inside it."""
    found: list[Atom | Bool | Real] = [atom]
    for node in found:  # grows while it is walked
        found += [a for a in node.args if isinstance(a, Bool | Real) and a not in found]
    return found


def _may_raise(k: Knowledge, node: Atom | Bool | Real) -> bool:
    """Whether Python may raise when it computes a node from the values of its operands."""
    op = node.op
    if op.partial is None:
        return False
    extents = [_extents(k, operand, op) for operand in node.args]
    return any(op.partial(*bounds, *node.data) for bounds in product(*extents))


def _extents(k: Knowledge, operand: Operand, op: Op) -> list[Any]:
    """The range of an operand, in two parts where zero is excluded from it."""
    if not isinstance(operand, Expr):
        return [span(operand) if isinstance(operand, Real) else Interval(0, 1)]
    refresh(operand)
    whole: Any = rounded_span(operand) if op.gives == REAL else Interval(operand.lo, operand.hi)
    if not operand.lo <= 0 <= operand.hi or not excludes_zero(k, form(k, operand)):
        return [whole]
    parts = (whole._replace(hi=min(whole.hi, -1)), whole._replace(lo=max(whole.lo, 1)))
    return [part for part in parts if part.lo <= part.hi]
