"""The facts on few symbols, filed under each of them for the search through small domains."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from anyshape.env.knowledge.equality import form_bool
from anyshape.env.knowledge.limit import NARROW
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool
    from anyshape.expr.node import Atom

MENTIONS: Final = 64
"""The search takes so many facts of a symbol into account, the first ones."""


def mention(k: Knowledge, condition: Bool) -> None:
    """File the fact under its symbols for the search through small domains."""
    if condition.op in RELATIONS:
        e = condition.expr
        if e.width == 1 and next(iter(terms(e))).op is SYMBOL:
            return
    symbols = symbols_of(condition)
    if len(symbols) <= NARROW:
        for s in symbols:
            if len(k.mentions.get(s, ())) < MENTIONS:
                k.include(k.mentions, s, condition)


def inherit_mentions(k: Knowledge, atom: Atom, made: Iterable[Atom]) -> None:
    """File what mentions a replaced atom, or one `made` of it, under what replaces it."""
    conditions = dict.fromkeys(c for a in made for c in k.mentions.get(a, ()))
    inherited = [c for c in islice(conditions, MENTIONS) if form_bool(k, c).op != boolean.TRUE]
    for s in symbols_of(k.replacements[atom]):
        for condition in inherited[: MENTIONS - len(k.mentions.get(s, ()))]:
            k.include(k.mentions, s, condition)
