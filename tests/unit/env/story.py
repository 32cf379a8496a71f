"""A small environment that is told facts and asked questions as text.

Its symbols are the backed sizes `s0` = 8 and `s1` = 12 and the unbacked integers `u0` ... `u5`.
`truths` says by enumeration what a question can be where the facts hold, so that a table of
expectations is itself checked and cannot ask for something false.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from anyshape.env import Env
from anyshape.expr import Bool, Expr, parse, symbol
from anyshape.expr.pool import Pool
from anyshape.expr.text.python import function
from anyshape.expr.traverse import symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterable

HINTS = {"s0": 8, "s1": 12}
UNBACKED = ("u0", "u1", "u2", "u3", "u4", "u5")
UNDEFINED = (ZeroDivisionError, ValueError, OverflowError)


class Story:
    """An environment, spoken to in text."""

    def __init__(self) -> None:
        self.env = Env()
        for hint in HINTS.values():
            self.env.backed(hint)
        for _ in UNBACKED:
            self.env.unbacked()

    def condition(self, text: str) -> Bool:
        made = parse(self.env.pool, text)
        assert isinstance(made, Bool), text
        return made

    def expression(self, text: str) -> Expr:
        made = parse(self.env.pool, text)
        assert isinstance(made, Expr), text
        return made

    def tell(self, *facts: str) -> Story:
        for fact in facts:
            self.env.assume(self.condition(fact))
        return self

    def ask(self, question: str) -> bool | None:
        return self.env.prove(self.condition(question)).answer

    def reason(self, question: str) -> str:
        return self.env.prove(self.condition(question)).reason

    def simple(self, text: str) -> str:
        return self.env.text(self.env.simplify(self.expression(text)))

    def range(self, text: str) -> tuple[float, float]:
        return tuple(self.env.range_of(self.expression(text)))

    def listed(self) -> list[str]:
        return [o.text for o in (*self.env.guards, *self.env.runtime_asserts)]


def truths(facts: Iterable[str], question: str) -> set[bool]:
    """What `question` can be over small values that satisfy the facts; sizes start at 2."""
    pool = Pool()
    for name in (*HINTS, *UNBACKED):
        symbol(pool, name)
    conditions = [parse(pool, text) for text in (question, *facts)]
    names = [s.name for s in symbols_of(*conditions)]
    reach = {1: 24, 2: 12, 3: 8}.get(len(names), 3)
    ranges = [range(2, reach + 3) if n in HINTS else range(-reach, reach + 1) for n in names]
    hold = function(conditions, names)
    found = set()
    for values in itertools.product(*ranges):
        try:
            truth, *known = hold(*values)
        except UNDEFINED:
            continue
        if all(known):
            found.add(truth)
    return found
