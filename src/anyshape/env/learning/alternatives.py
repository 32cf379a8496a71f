"""A relation by cases, as conditions that are learnt with it.

    f*g == 0                 f == 0 or g == 0
    f*g != 0                 f != 0 and g != 0
    r + m*ite(c, a, 0) op 0  (c and r + m*a op 0) or (not c and r op 0)

The first two are for an atom f that divides every term. As a clause, a relation is looked at again
when something is learnt that rules out one of its cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.env.knowledge.polynomial import common_factors, without_factor
from anyshape.expr import boolean
from anyshape.expr.boolean import Bool, conj, disj, negate, relation
from anyshape.expr.table.op import CHOICE
from anyshape.expr.terms import from_terms, terms

if TYPE_CHECKING:
    from anyshape.expr import Expr
    from anyshape.expr.table.row import Op


def alternatives(e: Expr, op: Op) -> list[Bool]:
    """Conditions by cases that follow from `e op 0`."""
    found = []
    if op != boolean.GE:
        connective = disj if op == boolean.EQ else conj
        for factor in common_factors(e)[:1]:
            parts = [relation(op, factor.node), relation(op, without_factor(e, factor))]
            found.append(connective(e.pool, parts))
    choices = [atom for atom in terms(e) if atom.op is CHOICE]
    if len(choices) == 1:
        (choice,) = choices
        condition, taken = choice.args
        assert isinstance(condition, Bool)
        rest = from_terms(e.pool, {a: m for a, m in terms(e).items() if a is not choice}, e.c)
        with_taken = rest + taken.scale(terms(e)[choice])  # type: ignore[union-attr]
        cases = [
            conj(e.pool, [condition, relation(op, with_taken)]),
            conj(e.pool, [negate(condition), relation(op, rest)]),
        ]
        found.append(disj(e.pool, cases))
    return found
