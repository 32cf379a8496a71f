"""Search through small domains: when few assignments are left, look at all of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from anyshape.env.equality import form_bool
from anyshape.expr import boolean
from anyshape.expr.op import SYMBOL
from anyshape.expr.python import function
from anyshape.expr.terms import terms
from anyshape.expr.traverse import nodes_below, symbols_of

if TYPE_CHECKING:
    from anyshape.env.knowledge import Knowledge
    from anyshape.expr import Bool

_RELATIONS: Final = (boolean.GE, boolean.EQ, boolean.NE)
POINTS: Final = 1024
NODES: Final = 64
FACTS: Final = 16


def search(k: Knowledge, question: Bool) -> bool | None:
    """The truth of `question` where it is the same for every assignment that the facts allow."""
    if question.op in _RELATIONS and any(
        a.op is SYMBOL and a.hi - a.lo >= POINTS for a in terms(question.expr)
    ):
        return None
    symbols = symbols_of(question)
    points = 1
    for s in symbols:
        points *= s.hi - s.lo + 1  # type: ignore[assignment]  # an infinite end makes it infinite
        if not points <= POINTS:
            return None
    if not symbols or len(nodes_below((question,))) > NODES:
        return None
    chosen = set(symbols)
    facts: list[Bool] = []
    for b in dict.fromkeys(b for s in symbols for b in k.mentions.get(s, ())):
        fact = form_bool(k, b)
        if chosen.issuperset(symbols_of(fact)) and len(nodes_below((fact,))) <= NODES:
            facts.append(fact)
    names = [s.name for s in symbols]
    holds = function([question, *facts[:FACTS]], names)
    answers = set()
    for values in product(*(range(int(s.lo), int(s.hi) + 1) for s in symbols)):
        try:
            truth, *known = holds(*values)
        except (ZeroDivisionError, OverflowError, ValueError):
            continue
        if all(known):
            answers.add(truth)
            if len(answers) > 1:
                return None
    return answers.pop() if answers else None
