"""A bound on a symbol of which only a range is known: by far the most facts of long programs.

No relation, op, clause, congruence, hole or replacement speaks of the symbol, and the bound leaves
it more than one value. So nothing follows, nothing can contradict it, and no journal is needed.
Everything else is for `learn`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.domain import lower, upper
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.knowledge import Knowledge


def bound_alone(k: Knowledge, fact: Fact) -> bool:
    """Learn `e >= 0` where that bounds a symbol of which nothing else is known; else say False."""
    e = fact.condition.expr
    if e.width != 1 or k.clauses:
        return False
    ((atom, m),) = terms(e).items() or ((None, 0),)
    if (
        atom is None
        or atom.op is not SYMBOL
        or atom.parents
        or atom in k.linear
        or atom in k.replacements
        or atom in k.holes
        or atom.node in k.residues
    ):
        return False
    lo, hi = atom.lo, atom.hi
    if m > 0:
        lo = lower(-(e.c // m))
        if not atom.lo < lo < hi:
            return False
    else:
        hi = upper(e.c // -m)
        if not lo < hi < atom.hi:
            return False
    k.bound(atom, lo, hi, m < 0, fact)
    return True
