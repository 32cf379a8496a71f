"""Guards and runtime asserts: what must hold when the program runs, and the short list of it.

A guard is over backed symbols and is checked before the program runs; one that fails means "trace
again". A runtime assert needs an unbacked symbol, is checked as soon as the last symbol that it
needs is known, and is an error when it fails.

The list is minimal: of the bounds on one direction only the tightest stay, and what follows from
the ranges of single symbols that stay is left out, unless it is a very long sum. Nothing is left
out because of what is itself left out.

What is left out may have come first in the program. So a listed condition keeps all facts in the
order of the program, and when it fails, the first of them that fails is the one to report. Where
that cannot be found out afterwards, as in a graph of `torch.fx`, all facts are checked, in order.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from anyshape.domain import EVERYTHING, NATURAL, Interval
from anyshape.env.fact import ORIGINS
from anyshape.env.knowledge.direction import direction_of
from anyshape.env.knowledge.limit import WIDE
from anyshape.errors import shortened
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS, Bool
from anyshape.expr.evaluate import evaluate
from anyshape.expr.node import Atom, Expr
from anyshape.expr.real import SYMBOL as REAL_SYMBOL
from anyshape.expr.real import Real
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms
from anyshape.expr.traverse import names_of, nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.site import Site

    Ranges = Mapping[Atom, Interval]


class Obligation:
    """One condition with its origin, the user's line and message; text is made when asked for."""

    __slots__ = ("_message", "condition", "knowledge", "origin", "recorded", "site")

    def __init__(self, fact: Fact, knowledge: Knowledge, recorded: Sequence[Fact] = ()) -> None:
        self.recorded = recorded
        self.condition: Bool = fact.condition
        self.origin = fact.origin
        self.site: Site | None = fact.site
        self._message = fact.message
        self.knowledge = knowledge

    @property
    def message(self) -> str | None:
        """What the user, or the rule of an op, has to say when it fails."""
        return self._message() if callable(self._message) else self._message

    @property
    def symbol(self) -> str:
        """The name of the last unbacked symbol that a runtime assert needs; empty for a guard."""
        return last_unbacked(self.condition)

    @property
    def text(self) -> str:
        """The condition as Python over the sources."""
        return self.knowledge.text(self.condition)

    def first_failing(self, values: Mapping[str, Any]) -> tuple[Obligation, bool]:
        """The first recorded condition that fails at the values of the symbols that are known.

        Given that this one fails. Also whether a symbol is missing for one before it.
        """
        is_open = False
        for fact in self.recorded:
            for part in _parts(fact):
                if any(name not in values for name in names_of(part.condition)):
                    is_open = True
                elif not _holds(part.condition, values):
                    return Obligation(part, self.knowledge), is_open
        return self, False

    def describe(self) -> str:
        """The text with its origin, the user's line and message."""
        notes = [ORIGINS[self.origin], self.message, self.site and str(self.site)]
        return f"{self.text}  # {', '.join(note for note in notes if note)}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return shortened(f"<{self.describe()}>")


def _holds(condition: Bool, values: Mapping[str, Any]) -> bool:
    """The truth of a condition; false where it has no value."""
    try:
        return bool(evaluate(condition, values))
    except (ArithmeticError, ValueError):
        return False


def in_program_order(listed: Iterable[Obligation]) -> list[Obligation]:
    """All recorded conditions that a short list stands for, in the order of the program.

    Conditions of the list that were recorded with no others come last.
    """
    return [o for _, o in numbered(listed)]


def numbered(listed: Iterable[Obligation]) -> list[tuple[int, Obligation]]:
    """The same, each with the number of its fact; -1 for what was recorded with no others."""
    found: dict[Bool, tuple[int, Obligation]] = {}
    alone = []
    for o in listed:
        if not o.recorded:
            alone.append((-1, o))
        elif not found:
            for i, fact in enumerate(o.recorded):
                for part in _parts(fact):
                    made = Obligation(part, o.knowledge, o.recorded)
                    found.setdefault(part.condition, (i, made))
    return [*found.values(), *alone]


def last_unbacked(p: Bool) -> str:
    """The name of the newest symbol without a hint in `p`; empty if there is none."""
    atom = _symbol_of(p)
    if atom is not None:
        return atom.name if atom.hint is None else ""
    return next(reversed(unbacked_in(p)), "")


def unbacked_in(p: Bool) -> list[str]:
    """The names of the symbols without a hint in `p`, oldest first."""
    if p.op in RELATIONS:
        atoms = sorted(terms(p.expr), key=attrgetter("index"))
        if all(a.op is SYMBOL for a in atoms):
            return [a.name for a in atoms if a.hint is None]
    names = []
    for node in nodes_below((p,)):
        if type(node) is Atom and node.op is SYMBOL and node.hint is None:
            names.append(node.name)
        elif type(node) is Real and node.op == REAL_SYMBOL and node.hint is None:
            names.append(node.args[0])
    return names


def minimal(facts: Iterable[Fact], ranges: Ranges) -> list[Fact]:
    """The facts that imply all of them, in order; `ranges` hold without saying."""
    parts = [part for o in facts for part in _parts(o)]
    tightest: dict[tuple[Expr, int], tuple[int | float, bool, Fact]] = {}
    for o in parts:
        for key, bound in _bounds(o.condition):
            new = (bound, o.condition.op == boolean.EQ)
            best = tightest.get(key)
            if best is None or new > best[:2]:
                tightest[key] = (*new, o)
    kept_ids = {id(o) for *_, o in tightest.values()}
    known = dict(ranges)
    for o in parts:
        if id(o) in kept_ids:
            _note_range(known, o.condition)
    result: dict[Bool, Fact] = {}
    for o in parts:
        relation = o.condition.op in (boolean.GE, boolean.EQ)
        if relation and id(o) not in kept_ids:
            continue
        own = ranges if _symbol_of(o.condition) is not None else known
        wide = relation and o.condition.expr.width > WIDE
        if wide or not _implied(o.condition, own):
            result.setdefault(o.condition, o)
    return list(result.values())


def _parts(fact: Fact) -> list[Fact]:
    if fact.condition.op != boolean.AND:
        return [fact]
    return [fact._replace(condition=part) for part in fact.condition.args]


def _bounds(b: Bool) -> list[tuple[tuple[Expr, int], int | float]]:
    """The lower ends that a relation puts on its direction and on the opposite one."""
    if b.op not in (boolean.GE, boolean.EQ):
        return []
    key, factor = direction_of(b.expr)
    sign = 1 if factor > 0 else -1
    bound = -(b.expr.c // abs(factor))
    result: list[tuple[tuple[Expr, int], int | float]] = [((key, sign), bound)]
    if b.op == boolean.EQ:
        result.append(((key, -sign), -bound))
    return result


def _symbol_of(b: Bool) -> Atom | None:
    """The symbol that a relation bounds, when it mentions nothing else."""
    if b.op in (boolean.GE, boolean.EQ) and b.expr.width == 1:
        atom = next(iter(terms(b.expr)))
        return atom if atom.op is SYMBOL else None
    return None


def _note_range(known: dict[Atom, Interval], b: Bool) -> None:
    atom = _symbol_of(b)
    if atom is None:
        return
    m, c = terms(b.expr)[atom], b.expr.c
    old = known.get(atom, EVERYTHING)
    new = Interval(-(c // m), EVERYTHING.hi) if m > 0 else Interval(EVERYTHING.lo, c // -m)
    if b.op == boolean.EQ:
        new = Interval(-(c // m), -c // m)
    known[atom] = old.intersect(new) or old


def _implied(b: Bool, ranges: Ranges) -> bool:
    """Whether interval arithmetic over the ranges proves the condition."""
    if b.op == boolean.GE and b.expr.width == 1:
        ((atom, m),) = terms(b.expr).items()
        if atom.op is SYMBOL:
            lo, hi = ranges.get(atom, EVERYTHING)
            return b.expr.c + m * (lo if m > 0 else hi) >= 0
    known: dict[object, Interval] = {}
    for node in nodes_below((b,)):
        if type(node) is Atom:
            if node.op is SYMBOL:
                known[node] = ranges.get(node, EVERYTHING)
            else:
                known[node] = node.op.bounds(*[_interval(a, known) for a in node.args], *node.data)
        elif type(node) is Bool:
            known[node] = _truth(node, known)
        else:
            known[node] = EVERYTHING
    return known[b] == Interval(1, 1)


def _interval(operand: object, known: dict[object, Interval]) -> Interval:
    if type(operand) is not Expr:
        return known[operand]
    total = Interval(operand.c, operand.c)
    for atom, m in terms(operand).items():
        total = total.add(known[atom].scale(m))
    return total


def _truth(b: Bool, known: dict[object, Interval]) -> Interval:
    """[1, 1] for proved, [0, 1] for open."""
    proved = False
    if b.op in RELATIONS:
        lo, hi = _interval(b.expr, known)
        if b.op == boolean.GE:
            proved = lo >= 0
        else:
            proved = lo == hi == 0 if b.op == boolean.EQ else lo > 0 or hi < 0
    elif b.op == boolean.OR:
        proved = any(known[part].lo == 1 for part in b.args)
    elif b.op == boolean.AND:
        proved = all(known[part].lo == 1 for part in b.args)
    return Interval(1, 1) if proved else Interval(0, 1)


def natural(symbols: Iterable[Expr]) -> dict[Atom, Interval]:
    """The ranges that sizes have by nature: not negative."""
    return {next(iter(terms(e))): NATURAL for e in symbols}
