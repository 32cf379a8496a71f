"""Disjunctions that are not yet decided, and who is to hear of which news.

    clauses    by disjunction: its parts that are not known to be false, each with the fact
    watchers   by atom: the (disjunction, part) whose part mentions it;
               by condition: those whose part is its negation

A fact wakes the parts that it denies word for word, and for each atom of which it told something
the first `LOOKS` open parts that mention it. So what a fact costs does not depend on the number of
the clauses, nor on the number of their parts.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from anyshape.domain import INF, NINF
from anyshape.env.knowledge.equality import form
from anyshape.expr import boolean
from anyshape.expr.boolean import negate
from anyshape.expr.terms import terms
from anyshape.expr.traverse import atoms_below, symbols_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from anyshape.domain import Bound
    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool
    from anyshape.expr.node import Atom

LOOKS: Final = 8
"""A fact wakes so many parts per atom; its cost is proportional to that.

Of what follows from 30 clauses of two parts on five symbols, 1, 2, 4, 8, 16 and 64 looks find 88,
96, 96, 97.5, 97.5 and 97.5%; of three parts, 41, 48, 56, 60, 69 and 69%. From 8 to 16, a fact on
alternatives costs half as much again, up to twice as much.
"""

HULL: Final = 64
"""Alternatives on one atom bound it together while they are so many.

They are looked at whenever one of them is refuted. So to refute n of them costs n times this.
"""

INHERITED: Final = 64
"""So many parts that wait for a replaced atom wait for the symbols of its replacement.

Each costs a write per symbol, once per replacement: no more than one propagation, of 200 steps.
"""

CANDIDATES: Final = 16
"""A question looks at so many clauses for one that implies it.

They are those of its rarest atoms, and each costs a comparison per part. More than 4 made no
difference on the clauses above.
"""

SCANNED: Final = 4 * CANDIDATES
"""So many entries of one atom are read for that: a clause has one per part that mentions it."""


def open_clause(k: Knowledge, clause: Bool, parts: list[Bool], fact: Fact) -> None:
    """Have a disjunction wait with the parts that may hold."""
    k.put(k.clauses, clause, dict.fromkeys(parts, fact))
    for part in parts:
        watching = (clause, part)
        k.include(k.watchers, negate(part), watching)
        for atom in atoms_below(part):
            k.include(k.watchers, atom, watching)
            value = k.replacements.get(atom)
            for symbol in () if value is None else symbols_of(value):
                k.include(k.watchers, symbol, watching)


def inherit_watchers(k: Knowledge, atom: Atom) -> None:
    """Have the symbols of a replacement wake what the replaced atom wakes."""
    if atom in k.watchers:
        symbols = symbols_of(k.replacements[atom])
        for watching in _first(k, atom, INHERITED):
            for symbol in symbols:
                k.include(k.watchers, symbol, watching)


def wake(k: Knowledge, atoms: Iterable[Atom]) -> None:
    """Put the parts that wait for news about some atoms on the agenda."""
    if k.clauses:
        for atom in atoms:
            if atom in k.watchers:
                k.agenda.update(dict.fromkeys(_first(k, atom, LOOKS)))


def wake_denied(k: Knowledge, condition: Bool) -> None:
    """Put the parts that a fact denies word for word on the agenda."""
    if k.clauses and condition in k.watchers:
        k.agenda.update(dict.fromkeys(_first(k, condition, LOOKS)))


def _first(k: Knowledge, key: Atom | Bool, most: int) -> list[tuple[Bool, Bool]]:
    """The first open parts that wait for news about an atom or a condition; drops closed ones."""
    watchers = k.watchers[key]
    found: list[tuple[Bool, Bool]] = []
    closed: list[tuple[Bool, Bool]] = []
    for watching in watchers:
        clause, part = watching
        if part in k.clauses.get(clause, ()):
            found.append(watching)
            if len(found) == most:
                break
        else:
            closed.append(watching)
    for watching in closed:
        k.remove(watchers, watching)
    return found


def clauses_about(k: Knowledge, b: Bool) -> Iterator[dict[Bool, Fact]]:
    """The parts of some open clauses that mention an atom of `b`, the rarest atoms first."""
    lists = [k.watchers[atom] for atom in atoms_below(b) if atom in k.watchers]
    seen: set[Bool] = set()
    for watchers in sorted(lists, key=len):
        for clause, part in islice(watchers, SCANNED):
            if clause not in seen:
                parts = k.clauses.get(clause, {})
                if part in parts:
                    seen.add(clause)
                    yield parts
            if len(seen) == CANDIDATES:
                return


def hull_of(k: Knowledge, parts: Collection[Bool]) -> tuple[Atom, Bound, Bound] | None:
    """The atom that each of a few parts bounds, with the least and the largest of their ends."""
    if len(parts) > HULL:
        return None
    ranges: list[tuple[Atom, Bound, Bound]] = []
    for part in parts:
        if part.op not in (boolean.GE, boolean.EQ):
            return None
        e = form(k, part.expr)
        of_e = terms(e)
        if len(of_e) != 1:
            return None
        ((atom, m),) = of_e.items()
        lo: Bound = -(e.c // m) if m > 0 else NINF
        hi: Bound = e.c // -m if m < 0 else INF
        if part.op == boolean.EQ:
            lo, hi = -(e.c // m), -e.c // m
        ranges.append((atom, lo, hi))
    atoms, lows, highs = zip(*ranges, strict=True)
    return (atoms[0], min(lows), max(highs)) if len(set(atoms)) == 1 else None
