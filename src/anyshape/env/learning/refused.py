"""The error for a fact that cannot hold: both sides, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.errors import ConstraintError
from anyshape.expr.traverse import atoms_below

if TYPE_CHECKING:
    from anyshape.env.fact import ContradictionError, Fact
    from anyshape.env.knowledge.knowledge import Knowledge


def error_of(k: Knowledge, fact: Fact, contradiction: ContradictionError) -> ConstraintError:
    """The error for a fact that led to a contradiction."""
    against = contradiction.against
    if against is None or against is fact:
        against = _rival(k, fact)
    why = contradiction.statement
    if against is not None:
        why = f"known before: {against.describe(k.brief)}; {why}"
    what = f"this cannot hold: {fact.describe(k.brief)}"
    return ConstraintError(f"{fact.said}: {what}" if fact.message else what, why=why)


def _rival(k: Knowledge, fact: Fact) -> Fact | None:
    """A fact about a symbol of `fact`, the one that bounds it first."""
    for atom in atoms_below(fact.condition):
        for end in (False, True):
            if (atom, end) in k.blame:
                return k.blame[atom, end]
        for relation in k.linear.get(atom, ()):
            return relation.fact
    return None
