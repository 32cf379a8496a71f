"""One question, with everything that travels with it, and the ladder of a relation.

A `Question` carries the knowledge, the effort, the budget, the reason of its answer and the atoms
that are being reduced. The questions inside it, as whether an operand of a maximum is dominated,
share its budget. It reads the knowledge and records nothing but memoized results.

    range         bounds composed on the way up
    direction     the range of its direction, by key
    equality      the same under the replacements, with fresh bounds
    reduction     atoms that the facts make simpler, read again
    congruence    values modulo a constant, and powers
    squares       a polynomial of degree 2 as a sum of squares
    elimination   combination with definitions and known relations
    clause        a known clause that implies it; only for a question of its own
    search        all assignments, when few are left; likewise
    solver        z3, when `config.solver` asks for it; likewise

The answer is a function of the knowledge and the relation. So memoized results must not change it:
each is kept with its cost in steps, which its reuse spends as well, and only when it is complete.
It is not when the budget ran out, or when it rests on an atom whose own reduction had not finished.
An elimination of small depth comes before the reduction, because it is cheaper than the questions
of the reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.config import config
from anyshape.env.knowledge.equality import form, form_bool
from anyshape.env.knowledge.polynomial import common_factors, without_factor
from anyshape.env.ladder.elimination import DEEP, SHALLOW, by_elimination, is_eliminable
from anyshape.env.ladder.enumeration import enumerate_assignments
from anyshape.env.ladder.reading import (
    by_clause,
    by_congruence,
    by_direction,
    by_range,
    by_reading,
    by_spine,
    by_squares,
)
from anyshape.env.ladder.real_comparison import by_spans
from anyshape.env.ladder.reduce import NOWHERE, has_ops, reduce, where_defined
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS
from anyshape.expr.node import STALE
from anyshape.expr.table.op import FLOORDIV, PRODUCT, SYMBOL
from anyshape.expr.terms import LONG, has_more_terms, is_fresh, refresh, terms
from anyshape.expr.traverse import is_longer

if TYPE_CHECKING:
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool, Expr
    from anyshape.expr.node import Atom
    from anyshape.expr.table.row import Op

FULL: Final = 0
RANGES: Final = 1
REPLACEMENTS: Final = 2
BUDGET: Final = 160
SEARCHED: Final = 256
_DIVISIBLE: Final = (PRODUCT, FLOORDIV)


def _is_one_atom(e: Expr) -> bool:
    """Whether a short pending sum is a multiple of one atom: only if its terms meet."""
    return (e.version == STALE or e.oldest == e.newest) and len(terms(e)) == 1


class Question:
    """One question; see the module.

    `steps` is what is left of the budget; below zero, it has run out. `why` is the rung that
    answered, with its data. `reducing` has the atoms whose reduction is under way with their depth,
    `reentered` the smallest depth at which one of them was met again.
    """

    __slots__ = ("effort", "knowledge", "reducing", "reentered", "solver", "steps", "why")

    def __init__(self, knowledge: Knowledge, effort: int = FULL, steps: int = 0) -> None:
        self.knowledge = knowledge
        self.effort = effort
        self.steps = steps or BUDGET
        self.why: object = None
        self.solver: str | None = None
        self.reducing: dict[Atom, int] = {}
        self.reentered = NOWHERE

    def spend(self, steps: int) -> bool:
        """Take steps from the budget; say whether it had them."""
        self.steps -= steps
        return self.steps >= 0

    def relation(self, b: Bool) -> bool | None:
        """The truth of a relation that the bounds on its node leave open, by all rungs."""
        e, op = b.expr, b.op
        if e.width == 1 or (e.terms is None and e.width <= LONG and _is_one_atom(e)):
            atom = next(iter(terms(e)))
            if atom.op is SYMBOL and atom not in self.knowledge.replacements:
                return self._one_symbol(b, atom)
        answer = self._by_reading(e, op) if e.width > LONG else None
        if answer is None:
            is_long = has_more_terms(e, LONG)
            k = self.knowledge
            if not is_long or (k.log and k.may_be_respelt(e)):
                answer = self.sign(e, op)
            if answer is None and not is_long:
                answer = self.search(b)
        return answer

    def _one_symbol(self, b: Bool, atom: Atom) -> bool | None:
        """A relation on one symbol: its range, excluded values and congruence; facts on others."""
        k = self.knowledge
        e, op = b.expr, b.op
        answer = None
        if e.version < e.pool.ranges and not is_fresh(e):
            refresh(e)
            answer = by_range(self, e, op)
        if answer is None and op is not boolean.GE:
            answer = by_direction(self, e, op)
            known = e.c % terms(e)[atom] or atom.node in k.residues
            if answer is None and known:
                answer = by_congruence(self, e, op)
        if answer is None and (atom in k.mentions or config.solver is not None):
            answer = self.search(b)
        return answer

    def search(self, b: Bool) -> bool | None:
        """The truth of a condition by the last rungs; a long one is for the solver alone."""
        k = self.knowledge
        if not is_longer(b, SEARCHED):
            answer = by_clause(self, b)
            if answer is not None:
                return answer
            answer = enumerate_assignments(k, form_bool(k, b))
            if answer is not None:
                self.why = ("search",)
                return answer
        self.solver = config.solver
        if self.solver is not None:
            from anyshape.env.ladder.solver import ask  # noqa: PLC0415  z3 is an optional dependency

            answer = ask(k, b)
            if answer is not None:
                self.why = ("solver",)
                return answer
        return None

    def _by_reading(self, e: Expr, op: Op) -> bool | None:
        """What can be read off a wide sum without its terms; they are few if many cancelled."""
        answer = by_direction(self, e, op)
        if answer is None and e.version < e.pool.ranges and not is_fresh(e):
            answer = by_spine(self, e, op)
            if answer is None:
                refresh(e)
                answer = by_range(self, e, op)
        return answer

    def sign(self, e: Expr, op: Op) -> bool | None:
        """Whether `e op 0`, by all rungs; the bounds on the node of `e` do not decide it."""
        spelt = form(self.knowledge, e)
        answer = None if spelt is e else by_direction(self, e, op)
        if answer is None:
            answer = by_reading(self, spelt, op, seen=spelt is e)
        if answer is not None or len(terms(spelt)) > LONG:
            return answer
        return self._by_atoms(spelt, op)

    def _by_atoms(self, e: Expr, op: Op) -> bool | None:
        """The rungs that look into the atoms of a short sum in its present spelling."""
        k = self.knowledge
        answer = None
        if has_ops(e):
            answer = by_elimination(self, e, op, SHALLOW)
            if answer is not None:
                return answer
            reduced = reduce(self, e)
            if has_ops(reduced, _DIVISIBLE):
                reduced = self._cofactor(where_defined(reduced), op)
            if reduced is not e:
                answer = by_reading(self, reduced, op)
                e = reduced
        if answer is None:
            answer = by_congruence(self, e, op)
        if answer is None:
            answer = by_squares(self, e, op)
        if answer is None and is_eliminable(k, e):
            answer = by_elimination(self, e, op, DEEP)
        return answer

    def _cofactor(self, e: Expr, op: Op) -> Expr:
        """The same relation without the common factors f whose sign is known.

        f*g >= 0 is g >= 0, and f*g - 1 >= 0 is g - 1 >= 0, for f >= 1; f*g == 0 is g == 0 for
        f != 0.
        """
        c = e.c if op == boolean.GE and e.c == -1 else 0
        for factor in common_factors(e.shift(-c)):
            positive = self.is_nonnegative(factor.node.shift(-1))
            if positive or (op != boolean.GE and self.inner(factor.node, boolean.NE)):
                e = without_factor(e.shift(-c), factor).shift(c)
        return e

    # ------------------------------------------------------------------ questions inside this one

    def is_nonnegative(self, e: Expr) -> bool | None:
        """Whether `e >= 0`."""
        return self.inner(e, boolean.GE)

    def inner(self, e: Expr, op: Op) -> bool | None:
        """Whether `e op 0`, within the budget of this question."""
        answer = by_range(self, e, op)
        if answer is None and self.spend(1):
            answer = self.sign(e, op)
        return answer

    def holds(self, b: Bool) -> bool | None:
        """Whether a condition holds, within the budget of this question."""
        told = self.knowledge.told.get(b)
        if told is not None:
            return told
        if b.op in RELATIONS:
            return self.inner(b.expr, b.op)
        return by_spans(self, b) if b.op is boolean.REAL else None
