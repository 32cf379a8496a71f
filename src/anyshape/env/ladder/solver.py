"""The last rung: z3, asked with the facts that are connected to the question.

Connected are the facts that share an atom with the question, with another connected fact or with a
replacement, the nearest first, up to fixed numbers of facts and nodes; a fact left out can only
cost an answer. The answer is YES when the opposite cannot be, NO when the question cannot be; where
neither can be, the facts contradict each other and nothing is said.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from anyshape.env.knowledge.direction import direction_of
from anyshape.expr.boolean import RELATIONS, Bool
from anyshape.expr.node import Atom
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below
from anyshape.expr.z3_bridge import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Expr

RESOURCES: Final = 400_000
FACTS: Final = 64
NODES: Final = 512


def ask(k: Knowledge, b: Bool) -> bool | None:
    """Whether the facts imply `b` or its opposite, as far as z3 finds out."""
    problem = _connected(k, b)
    if problem is None:
        return None
    if problem.satisfiable(b, False, RESOURCES) is False:
        return None if problem.satisfiable(b, True, RESOURCES) is False else True
    return False if problem.satisfiable(b, True, RESOURCES) is False else None


def _connected(k: Knowledge, question: Bool) -> Problem | None:
    """The question's surroundings; None when the question alone is too large."""
    problem = Problem()
    seen: set[object] = set()
    todo: list[Atom | Bool] = []

    def reach(operands: Iterable[Expr | Bool | Atom]) -> None:
        new = [n for n in nodes_below(operands) if n not in seen]
        seen.update(new)
        todo.extend(n for n in new if isinstance(n, Atom | Bool))

    reach([question])
    facts: dict[Bool, None] = {}
    if len(seen) > NODES:
        return None
    for node in todo:  # grows while it is walked
        if isinstance(node, Bool):
            _add_direction(k, node, problem)
            continue
        _add_atom(k, node, problem)
        replacement = k.replacements.get(node)
        if replacement is not None:
            reach([replacement])
            problem.add_equality(node.node, replacement)
        linear = (relation.condition for relation in islice(k.linear.get(node, ()), FACTS))
        for fact in (*linear, *islice(k.mentions.get(node, ()), FACTS)):
            if fact not in facts and len(facts) < FACTS and len(seen) < NODES:
                facts[fact] = None
                reach([fact])
                problem.add(fact)
    return problem


def _add_atom(k: Knowledge, atom: Atom, problem: Problem) -> None:
    """What is known of one atom by itself."""
    problem.add_range(atom.node, atom.lo, atom.hi)
    for value in sorted(k.holes.get(atom, ())):
        problem.add_hole(atom.node, value)
    residue = k.residues.get(atom.node)
    if residue is not None:
        problem.add_congruence(atom.node, residue)


def _add_direction(k: Knowledge, relation: Bool, problem: Problem) -> None:
    """What is known of the direction of a relation, which may come from facts on many atoms."""
    if relation.op not in RELATIONS or not terms(relation.expr):
        return
    e = relation.expr
    key, factor = direction_of(e)
    known = k.directions.get(key)
    if known is not None:
        ends = (factor * known.lo + e.c, factor * known.hi + e.c)
        problem.add_range(e, min(ends), max(ends))
    for value in sorted(k.direction_holes.get(key, ())):
        problem.add_hole(e, factor * value + e.c)
    residue = k.residues.get(key)
    if residue is not None:
        problem.add_congruence(e, residue.scale(factor).shift(e.c))
