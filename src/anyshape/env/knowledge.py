"""The state that all reasoning shares: everything learnt, and a journal to take it back.

Knowledge only grows. Each piece is written through a method here that also writes the journal, so a
fact that turns out to contradict the others is undone as a whole; only `bound`, for what is sure to
stay, writes none. `pool.version` rises with every change; answers YES and NO stay valid for ever,
only UNKNOWN depends on the version.

    atom.lo, atom.hi   the range of each atom
    blame              which fact set an end of an atom's range
    directions         the range of a linear direction with two atoms or more
    holes              excluded values of atoms; `direction_holes`, of directions
    linear             by atom: relations on few atoms that mention it, see `relation.py`
    residues           congruences of linear directions, single atoms included
    replacements       atom -> equal expression of older atoms; `log` has them in order, `replaced`
                       their indices, sorted, `renamed`
                       those whose relations have yet to be said again in the new spelling
    clauses            disjunctions that are not yet decided; `agenda` has those to look at again
    mentions           by symbol: facts with few symbols, for the search through small domains
    links              pointers along chains of additions, see `spine.py`
    sources            how to show a symbol to the user

A direction is the linear part of an expression divided by the gcd of its coefficients, with the
sign that makes its key positive: u - v, 2*v - 2*u + 5 and v - u are one direction.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain import INF, NINF, Interval
from anyshape.env.relation import Related
from anyshape.expr.atom import may_be_undefined, operand_interval
from anyshape.expr.node import ALWAYS, STALE, Expr, tighten
from anyshape.expr.real import ANY, CONST, SYMBOL
from anyshape.expr.show import brief, show
from anyshape.expr.terms import content, refresh, terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anyshape.domain import Bound, Congruence
    from anyshape.env.fact import Fact
    from anyshape.env.relation import Relation
    from anyshape.env.spine import Link
    from anyshape.expr import Bool, Pool
    from anyshape.expr.node import Atom, Operand

NARROW: Final = 8
MATERIALIZE: Final = 16
FUEL: Final = 160


class Direction(NamedTuple):
    """The range of a linear direction, and the facts behind its ends."""

    lo: Bound
    hi: Bound
    low_fact: Fact | None
    high_fact: Fact | None


UNKNOWN_DIRECTION: Final = Direction(NINF, INF, None, None)
NO_HOLES: Final[Mapping[int, bool]] = MappingProxyType({})


class Start(NamedTuple):
    """How far everything that only grows was when the journal began."""

    log: int
    version: int
    atoms: int
    nodes: int
    created: int


class Knowledge:
    """All tables; see the module. Writers are the methods below, nobody else."""

    __slots__ = (
        "agenda",
        "atom_forms",
        "blame",
        "clauses",
        "direction_holes",
        "directions",
        "forms",
        "fuel",
        "holes",
        "journal",
        "linear",
        "links",
        "log",
        "mentions",
        "pool",
        "reductions",
        "renamed",
        "replaced",
        "replacements",
        "residues",
        "sources",
        "start",
        "watchers",
        "why",
    )

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.sources: dict[str, str] = {}
        self.journal: list[tuple[Any, Any, Any]] = []
        self.blame: dict[tuple[Atom, bool], Fact] = {}
        self.directions: dict[int, Direction] = {}
        self.linear: dict[Atom, Related] = {}
        self.holes: dict[Atom, dict[int, bool]] = {}
        self.direction_holes: dict[int, dict[int, bool]] = {}
        self.residues: dict[int, Congruence] = {}
        self.replacements: dict[Atom, Expr] = {}
        self.log: list[Atom] = []
        self.replaced: list[int] = []
        self.clauses: dict[Bool, Fact] = {}
        self.agenda: dict[Bool, None] = {}
        self.renamed: dict[Atom, None] = {}
        self.watchers: dict[Atom, dict[Bool, bool]] = {}
        self.mentions: dict[Atom, dict[Bool, bool]] = {}
        self.forms: dict[Expr, tuple[int, Expr]] = {}
        self.atom_forms: dict[Atom, tuple[int, Expr]] = {}
        self.reductions: dict[Atom, tuple[int, Expr]] = {}
        self.links: dict[Expr, Link] = {}
        self.start = Start(0, 0, 0, 0, 0)
        self.fuel = FUEL
        self.why: object = None

    def text(self, operand: Operand) -> str:
        """An expression over the sources of its symbols, exactly."""
        return show(operand, lambda name: self.sources.get(name, name))

    def brief(self, operand: Operand) -> str:
        """An expression over the sources of its symbols, shortened for messages."""
        return brief(operand, lambda name: self.sources.get(name, name))

    # ------------------------------------------------------------------ writing

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Write one entry of one table."""
        self.journal.append((table, key, table.get(key)))
        table[key] = value
        self.pool.version += 1

    def file(self, relation: Relation) -> None:
        """File a relation under each of its atoms."""
        for atom, coefficient in terms(relation.condition.expr).items():
            related = self.linear.get(atom)
            if related is None:
                related = Related()
                self.put(self.linear, atom, related)
            self.put(relation.bucket_in(related, coefficient), relation, True)

    def withdraw(self, relation: Relation) -> None:
        """Take a relation off the files, because another one says the same in a newer spelling."""
        for atom, coefficient in terms(relation.condition.expr).items():
            self.remove(relation.bucket_in(self.linear[atom], coefficient), relation)

    def include(self, table: dict[Any, dict[Any, bool]], key: Any, member: Any) -> None:
        """Add a member to the set that a table has under a key."""
        members = table.get(key)
        if members is None:
            members = {}
            self.put(table, key, members)
        if member not in members:
            self.put(members, member, True)

    def remove(self, table: dict[Any, Any], key: Any) -> None:
        """Remove one entry of one table that is of no more use; nothing is known less."""
        self.journal.append((table, key, table[key]))
        del table[key]

    def set_bounds(self, atom: Atom, lo: Bound, hi: Bound) -> None:
        """Write the range of an atom, and of the expression that is the atom alone."""
        self.journal.append((None, atom, (atom.lo, atom.hi)))
        atom.lo, atom.hi = lo, hi
        self.pool.version += 1
        self.pool.changed(atom)
        tighten(atom.node, lo, hi)

    def bound(self, atom: Atom, lo: Bound, hi: Bound, end: bool, fact: Fact) -> None:
        """Write one end of a range (`end`: the upper one) with its fact, for good: no journal."""
        self.blame[atom, end] = fact
        atom.lo, atom.hi = lo, hi
        self.pool.version += 1
        self.pool.changed(atom)
        tighten(atom.node, lo, hi)

    def replace(self, atom: Atom, by: Expr) -> None:
        """Record that `atom` equals `by`, which does not contain it."""
        if atom not in self.replacements:
            self.put(self.replacements, atom, by)
            self.log.append(atom)
            insort(self.replaced, atom.index)

    def is_any_replaced(self, oldest: int, newest: int) -> bool:
        """Whether an atom with an index from `oldest` to `newest` was replaced."""
        position = bisect_left(self.replaced, oldest)
        return position < len(self.replaced) and self.replaced[position] <= newest

    # ------------------------------------------------------------------ taking back

    def begin(self) -> None:
        """Start writing the journal."""
        self.journal = []
        pool = self.pool
        pool.undo = []
        self.start = Start(
            len(self.log), pool.version, len(pool.atoms), len(pool.nodes), pool.count
        )

    def commit(self) -> None:
        """Keep what was written since `begin`."""
        self.journal = []
        self.pool.undo = None

    def roll_back(self) -> None:
        """Undo everything since `begin`, also what was concluded from it."""
        for table, key, old in reversed(self.journal):
            if table is None:
                key.lo, key.hi = old
            elif old is None:
                table.pop(key, None)
            else:
                table[key] = old
        for atom in self.log[self.start.log :]:
            del self.replaced[bisect_left(self.replaced, atom.index)]
        del self.log[self.start.log :]
        self.agenda.clear()
        self.renamed.clear()
        self.forms.clear()
        self.atom_forms.clear()
        self.reductions.clear()
        self.links.clear()
        self._restore_pool()
        self.commit()

    def _restore_pool(self) -> None:
        """Give nodes, reals, atoms and conditions their former bounds; new ones start afresh."""
        pool, start = self.pool, self.start
        pool.version += 1
        pool.ranges += 1
        for node, lo, hi in reversed(pool.undo or ()):
            node.lo, node.hi = lo, hi
        for position, node in enumerate(pool.nodes.values()):
            node.version = STALE
            if position >= start.nodes and not node.is_const:
                node.lo, node.hi = NINF, INF
        for r in pool.reals.values():
            if r.index > start.created and r.op not in (CONST, SYMBOL):
                r.span = ANY
        for atom in pool.atoms[start.atoms :]:
            atom.lo, atom.hi = NINF, INF
            atom.lo, atom.hi = atom.node.lo, atom.node.hi = atom_interval(atom)
            atom.partial = may_be_undefined(atom)
        for atom in pool.atoms:
            atom.node.version = ALWAYS
        for b in pool.bools.values():
            if b.verdict_version > start.version:
                b.verdict = b.reason = None
                b.verdict_version = STALE


def direction_of(e: Expr) -> tuple[int, int]:
    """The key of the direction of `e`, and the factor by which `e - e.c` is longer than it."""
    key = e.linear_key
    factor = 1
    if e.width <= MATERIALIZE or type(e.parts) is dict:
        factor = content(terms(e).values())
    if key < 0:
        factor = -factor
    return key // factor, factor


def atom_interval(atom: Atom) -> Interval:
    """The interval of a non-symbol from the present bounds of its operands."""
    for operand in atom.args:
        if type(operand) is Expr:
            refresh(operand)
    return atom.op.bounds(*[operand_interval(a) for a in atom.args], *atom.data)  # type: ignore[no-any-return]  # as the row says
