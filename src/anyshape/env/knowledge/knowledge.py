"""The state that all reasoning shares: everything learnt, and a journal to roll it back.

Knowledge only grows. Each piece is written through a method here that also writes the journal, so a
fact that contradicts the others is undone as a whole; only `bound`, for what cannot contradict
anything, writes none.

    atom.lo, atom.hi   the range of each atom
    blame              which fact set an end of an atom's range
    directions         by key: the range of a linear direction with two atoms or more
    holes              excluded values of atoms; `direction_holes`, of directions
    linear             by atom: relations on few atoms that mention it, see `relation.py`
    residues           congruences of linear directions, single atoms included
    replacements       atom -> equal expression of older atoms; `log` has them in order, `replaced`
                       their indices, sorted, `renamed` those whose relations have yet to be
                       restated in the new spelling
    clauses            disjunctions that are not yet decided, see `clause.py`; `agenda` has the
                       parts to look at again, `watchers` who waits for what
    mentions           by symbol: facts with few symbols, for the search through small domains
    told               conditions that facts state word for word, with their truth
    links              pointers along chains of additions, see `spine.py`
    sources            how to show a symbol to the user
    births             where a symbol without a source was made, for messages

What is derived from these tables on demand is memoized with a stamp, see `memo.py`. There are two
counters. `version` rises with everything learnt, and stamps answers, reductions and definedness;
the length of `log`, the number of replacements, stamps spellings, which depend on nothing else. An
answer YES or NO stays valid for ever, because knowledge only grows; its stamp serves `Scope`
alone, which drops what was concluded inside. The bounds of expressions are memoized on
their nodes in the same way, with `pool.ranges` as the counter, because that makes a sum of any
length one step.

To take a fact back costs what it cost to learn it, however much else is known. So while one is
learnt (`is_learning`), the journal has the former bounds of nodes and former memoized results too.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.domain import INF, NINF, Interval
from anyshape.env.knowledge.memo import Memo
from anyshape.env.knowledge.relation import Related
from anyshape.expr.atom import op_interval
from anyshape.expr.boolean import Bool
from anyshape.expr.node import ALWAYS, STALE, Atom, Expr, tighten
from anyshape.expr.real import CONST, SYMBOL, fresh_span
from anyshape.expr.terms import terms
from anyshape.expr.text.show import brief, show

if TYPE_CHECKING:
    from anyshape.domain import Bound, Congruence
    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.direction import Direction
    from anyshape.env.knowledge.relation import Relation
    from anyshape.env.knowledge.spine import Link
    from anyshape.env.site import Site
    from anyshape.expr import Pool
    from anyshape.expr.node import Operand
    from anyshape.expr.real import Real


OPERANDS: Final = 16


class Start(NamedTuple):
    """How far everything that only grows was when the journal began."""

    log: int
    atoms: int
    nodes: int
    reals: int
    links: int


class Knowledge:
    """All tables; see the module. Only the methods below write them."""

    __slots__ = (
        "agenda",
        "atom_forms",
        "births",
        "blame",
        "clauses",
        "definedness",
        "direction_holes",
        "directions",
        "forms",
        "holes",
        "is_learning",
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
        "told",
        "version",
        "watchers",
    )

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.sources: dict[str, str] = {}
        self.births: dict[str, Site] = {}
        self.journal: list[tuple[Any, Any, Any]] = []
        self.is_learning = False
        self.blame: dict[tuple[Atom, bool], Fact] = {}
        self.directions: dict[Expr, Direction] = {}
        self.linear: dict[Atom, Related] = {}
        self.holes: dict[Atom, dict[int, bool]] = {}
        self.direction_holes: dict[Expr, dict[int, bool]] = {}
        self.residues: dict[Expr, Congruence] = {}
        self.replacements: dict[Atom, Expr] = {}
        self.log: list[Atom] = []
        self.replaced: list[int] = []
        self.clauses: dict[Bool, dict[Bool, Fact]] = {}
        self.agenda: dict[tuple[Bool, Bool], None] = {}
        self.renamed: dict[Atom, None] = {}
        self.watchers: dict[Atom | Bool, dict[tuple[Bool, Bool], bool]] = {}
        self.mentions: dict[Atom, dict[Bool, bool]] = {}
        self.links: dict[Expr, Link] = {}
        self.told: dict[Bool, bool] = {}
        self.definedness: Memo[Atom, tuple[int, bool]] = Memo()
        self.reductions: Memo[Atom, tuple[int, Expr, int]] = Memo()
        self.forms: Memo[Expr, tuple[int, Expr]] = Memo()
        self.atom_forms: Memo[Atom, tuple[int, Expr]] = Memo()
        self.version = 0
        self.start = Start(0, 0, 0, 0, 0)

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
        self.version += 1

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
        self.version += 1
        self.pool.changed(atom)
        tighten(atom.node, lo, hi)

    def bound(self, atom: Atom, lo: Bound, hi: Bound, end: bool, fact: Fact) -> None:
        """Write one end of a range (`end`: the upper one) with its fact, for good: no journal."""
        self.blame[atom, end] = fact
        atom.lo, atom.hi = lo, hi
        self.version += 1
        self.pool.changed(atom)
        tighten(atom.node, lo, hi)

    def replace(self, atom: Atom, by: Expr) -> None:
        """Record that `atom` equals `by`, which does not contain it."""
        if atom not in self.replacements:
            self.put(self.replacements, atom, by)
            self.log.append(atom)
            insort(self.replaced, atom.index)

    def may_be_respelt(self, e: Expr) -> bool:
        """Whether an atom of `e` may have been replaced, by the ages of its atoms.

        A pending sum is looked at by its operands, down to the first ones that no replacement can
        concern; after `OPERANDS` of them the answer is yes.
        """
        replaced = self.replaced
        stack = [e]
        for _ in range(OPERANDS):
            if not stack:
                return False
            node = stack.pop()
            position = bisect_left(replaced, node.oldest)
            if position < len(replaced) and replaced[position] <= node.newest:
                if node.terms is not None:
                    return True
                stack.extend(x for x in (node.left, node.right) if x is not None)
        return bool(stack)

    def tell(self, condition: Bool, truth: bool, fact: Fact) -> None:
        """Record what a fact states word for word, for good: no journal."""
        self.told[condition] = truth
        condition.answer = (self.version, truth, ("known", fact))

    def keep(self, memo: Memo[Any, Any], key: Any, entry: tuple[Any, ...]) -> None:
        """Memoize a result that begins with its stamp."""
        if self.is_learning:
            self.journal.append((memo, key, memo.get(key)))
        memo[key] = entry

    # ------------------------------------------------------------------ rolling back

    def begin(self) -> None:
        """Start writing the journal."""
        self.journal = []
        self.is_learning = True
        pool = self.pool
        pool.on_tighten = self._note
        atoms, nodes, reals = len(pool.atoms), len(pool.nodes), len(pool.reals)
        began = (len(self.log), atoms, nodes, reals, len(self.links))
        self.start = tuple.__new__(Start, began)  # what a named tuple does in Python, done in C

    def _note(self, node: Expr) -> None:
        """Keep the bounds of a node that are about to change, with their version."""
        self.journal.append((None, node, (node.lo, node.hi, node.version)))

    def commit(self) -> None:
        """Keep what was written since `begin`."""
        self.journal = []
        self.is_learning = False
        self.pool.on_tighten = None

    def roll_back(self) -> None:
        """Undo everything since `begin`, also what was concluded from it."""
        for table, key, old in reversed(self.journal):
            if table is not None:
                if old is None:
                    table.pop(key, None)
                else:
                    table[key] = old
            elif type(key) is Expr:
                key.lo, key.hi, key.version = old
            elif type(key) is Bool:
                key.answer = old
            else:
                key.lo, key.hi = old
                self.pool.changed(key)
        start = self.start
        for atom in self.log[start.log :]:
            del self.replaced[bisect_left(self.replaced, atom.index)]
        del self.log[start.log :]
        self.agenda.clear()
        self.renamed.clear()
        self.version += 1
        while len(self.links) > start.links:
            self.links.popitem()
        self._restore_new()
        self.commit()

    def _restore_new(self) -> None:
        """Compute the bounds of what was made since `begin` afresh."""
        pool, start = self.pool, self.start
        atoms = pool.atoms[start.atoms :]
        reals = _newest(pool.reals, start.reals)
        for node in _newest(pool.nodes, start.nodes):
            if not node.is_const:
                node.lo, node.hi = NINF, INF
                node.version = STALE
        made: list[Atom | Real] = [*atoms, *(r for r in reals if r.op not in (CONST, SYMBOL))]
        for x in sorted(made, key=lambda x: x.index):  # operands first
            if isinstance(x, Atom):
                x.node.version = ALWAYS
                x.lo, x.hi = x.node.lo, x.node.hi = NINF, INF
                x.lo, x.hi = x.node.lo, x.node.hi = atom_interval(x)
            else:
                x.span = fresh_span(x)


def _newest(table: dict[Any, Any], count: int) -> list[Any]:
    """The entries of a table that were made after the first `count`, newest first."""
    return list(islice(reversed(table.values()), len(table) - count))


def atom_interval(atom: Atom) -> Interval:
    """The interval of a non-symbol from the present bounds of its operands."""
    return op_interval(atom.op, atom.args, atom.data)
