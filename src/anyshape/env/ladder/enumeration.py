"""Search through small domains: when few assignments are left, look at all of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from anyshape.env.knowledge.equality import form_bool
from anyshape.expr.boolean import RELATIONS
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.real import Real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.text.python import function
from anyshape.expr.traverse import nodes_below, symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anyshape.domain import Bound
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool
    from anyshape.expr.node import Atom

POINTS: Final = 1024
NODES: Final = 64
FACTS: Final = 16


def enumerate_assignments(k: Knowledge, question: Bool) -> bool | None:
    """The truth of `question` where it is the same for every assignment that the facts allow.

    The symbols are those of the question and, while the assignments stay few, those that facts
    connect with them; facts that mention others are left out, which only allows more.
    """
    if question.op in RELATIONS and any(
        a.op is SYMBOL and a.hi - a.lo >= POINTS for a in terms(question.expr)
    ):
        return None
    symbols = dict.fromkeys(symbols_of(question))
    points = _points(symbols)
    if not symbols or points > POINTS or not _is_small(question):
        return None
    facts: list[Bool] = []
    for b in _mentioned(k, symbols):
        fact = form_bool(k, b)
        new = [s for s in symbols_of(fact) if s not in symbols]
        if not _is_small(fact) or points * _points(new) > POINTS:
            continue
        points = int(points * _points(new))
        symbols.update(dict.fromkeys(new))
        facts.append(fact)
    return _enumerate(question, facts[:FACTS], list(symbols))


def _is_small(b: Bool) -> bool:
    """Whether a condition is short, and has a value once the integers in it have one."""
    nodes = nodes_below((b,))
    return len(nodes) <= NODES and not any(
        type(node) is Real and node.op == REAL_SYMBOL for node in nodes
    )


def _points(symbols: Iterable[Atom]) -> Bound:
    """The number of assignments to the symbols."""
    points: Bound = 1
    for s in symbols:
        points *= s.hi - s.lo + 1
    return points


def _mentioned(k: Knowledge, symbols: dict[Atom, None]) -> Iterator[Bool]:
    """The facts that mention one of the symbols, to which the caller may add."""
    seen: set[Bool] = set()
    done: set[Atom] = set()
    while len(done) < len(symbols):
        for s in [s for s in symbols if s not in done]:
            done.add(s)
            for b in k.mentions.get(s, ()):
                if b not in seen:
                    seen.add(b)
                    yield b


def _enumerate(question: Bool, facts: list[Bool], symbols: list[Atom]) -> bool | None:
    holds = function([question, *facts], [s.name for s in symbols])
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
