"""`Scope`: facts that hold in a part of a program which may not run, such as a side of a branch.

What is learnt inside is forgotten at the end: of the tables of the knowledge there are copies, and
bounds that are memoized on nodes are put back or start afresh. Two things outlive the scope. Guards
are checked before the program runs, so they are learnt again outside. The asserts that were
recorded inside are `facts`: they belong to the part, and are to be checked where it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from anyshape.domain import INF, NINF
from anyshape.env.knowledge.knowledge import atom_interval
from anyshape.env.knowledge.relation import Related
from anyshape.expr.node import ALWAYS, STALE
from anyshape.expr.real import ANY, CONST, SYMBOL
from anyshape.expr.table.op import SYMBOL as INTEGER
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.env.env import Env
    from anyshape.env.fact import Fact

_FLAT: Final = ("blame", "directions", "residues", "replacements", "told")
_NESTED: Final = ("holes", "direction_holes", "clauses", "watchers", "mentions")


class Scope:
    """A context in which an environment learns for the time being."""

    __slots__ = (
        "_atoms",
        "_env",
        "_equal",
        "_guards",
        "_nodes",
        "_reals",
        "_start",
        "_tables",
        "facts",
    )

    def __init__(self, env: Env) -> None:
        self._env = env
        self.facts: list[Fact] = []

    def __enter__(self) -> Self:
        env = self._env
        k = env.knowledge
        pool = k.pool
        self._guards = len(env._guards)
        self._tables: dict[str, Any] = {name: dict(getattr(k, name)) for name in _FLAT}
        for name in _NESTED:
            self._tables[name] = {key: dict(part) for key, part in getattr(k, name).items()}
        self._tables["linear"] = {atom: _copy(found) for atom, found in k.linear.items()}
        self._nodes = [(node, node.lo, node.hi) for node in pool.nodes.values()]
        self._atoms = [(atom, atom.lo, atom.hi) for atom in pool.atoms]
        self._reals = {key: r.span for key, r in pool.reals.items()}
        self._equal = set(env.asker.found_equal)
        self._start = (len(k.log), k.version, len(env._asserts))
        k.version += 1  # an answer with an older stamp was given outside
        return self

    def __exit__(self, *_: object) -> None:
        env = self._env
        k = env.knowledge
        log, version, asserts = self._start
        self.facts = env._asserts[asserts:]
        del env._asserts[asserts:]
        for name, table in self._tables.items():
            setattr(k, name, table)
        del k.log[log:]
        k.replaced[:] = sorted(atom.index for atom in k.log)
        k.agenda.clear()
        k.renamed.clear()
        k.links.clear()
        k.version += 1
        k.definedness.forget(version)
        k.reductions.forget(version)
        k.forms.forget(log)
        k.atom_forms.forget(log)
        for b in k.pool.bools.values():
            if b.answer is not None and b.answer[0] > version:
                b.answer = None
        self._restore_pool()
        env.asker.found_equal.intersection_update(self._equal)
        for fact in env._guards[self._guards :]:
            env._learn(fact)

    def _restore_pool(self) -> None:
        """Give nodes, reals and atoms the bounds that they had; new ones start afresh."""
        env, pool = self._env, self._env.knowledge.pool
        pool.ranges += 1
        for node in pool.nodes.values():
            node.version = STALE
            if not node.is_const:
                node.lo, node.hi = NINF, INF
        for node, lo, hi in self._nodes:
            node.lo, node.hi = lo, hi
        for key, r in pool.reals.items():
            if r.op not in (CONST, SYMBOL):
                r.span = self._reals.get(key, ANY)
        for atom, lo, hi in self._atoms:
            atom.lo, atom.hi = lo, hi
        sizes = {next(iter(terms(e))) for e in env._sizes}
        for atom in pool.atoms[len(self._atoms) :]:
            lo, hi = (0 if atom in sizes else NINF), INF
            if atom.op is not INTEGER:
                atom.lo, atom.hi = NINF, INF
                lo, hi = atom_interval(atom)
            atom.lo, atom.hi = atom.node.lo, atom.node.hi = lo, hi
        for atom in pool.atoms:
            atom.node.version = ALWAYS


def _copy(related: Related) -> Related:
    made = Related()
    for name in Related.__slots__:
        setattr(made, name, dict(getattr(related, name)))
    return made
