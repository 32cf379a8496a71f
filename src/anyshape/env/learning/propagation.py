"""Ranges of atoms, and their propagation through relations and definitions.

A tightened range wakes up the relations on few atoms that mention the atom, the atoms made of it
(forward) and, for a non-symbol, the operands that it is made of (backward). Propagation stops after
a fixed number of steps: what is not derived is only not known.
"""

from __future__ import annotations

from itertools import islice
from math import isqrt
from typing import TYPE_CHECKING, Final, TypeAlias

from anyshape.domain import (
    INF,
    NINF,
    Interval,
    ceil_div,
    floor_div,
    inverse_floordiv,
    inverse_mul,
    lower,
    tighten,
    upper,
)
from anyshape.env.fact import ContradictionError
from anyshape.env.knowledge.knowledge import atom_interval
from anyshape.env.knowledge.limit import WIDE
from anyshape.env.knowledge.relation import LOWER, UPPER
from anyshape.env.ladder.definedness import became_defined, has_value
from anyshape.expr import boolean
from anyshape.expr.node import Expr
from anyshape.expr.table.op import FLOORDIV, GROUP, MAXIMUM, PRODUCT, SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.domain import Bound
    from anyshape.env.fact import Fact
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr.node import Atom
    from anyshape.expr.table.row import Op

    Moved: TypeAlias = tuple[Atom, int]

STEPS: Final = 200
DEFINED: Final = 4  # beside the ends of a range: the atom has become defined, or one inside it
RELATIONS_SCANNED: Final = 1024


def narrow_atom(k: Knowledge, atom: Atom, lo: Bound, hi: Bound, fact: Fact) -> int:
    """Intersect the range of an atom with [lo, hi]; return the ends that moved."""
    if lo <= atom.lo and hi >= atom.hi:
        return 0
    old_lo, old_hi = atom.lo, atom.hi
    lo, hi = lower(max(lo, old_lo)), upper(min(hi, old_hi))
    residue = k.residues.get(atom.node)
    if lo <= hi and residue is not None:
        tight = tighten(Interval(lo, hi), residue)
        lo, hi = tight if tight is not None else (1, 0)
    holes = k.holes.get(atom, ())
    while lo in holes and lo <= hi:
        lo += 1
    while hi in holes and lo <= hi:
        hi -= 1
    if lo > hi:
        side = lo > old_hi or fact is k.blame.get((atom, False))
        raise ContradictionError(
            f"{k.brief(atom.node)} cannot be in [{lo}, {hi}]", k.blame.get((atom, side))
        )
    ends = 0
    if lo > old_lo:
        k.put(k.blame, (atom, False), fact)
        ends = LOWER
    if hi < old_hi:
        k.put(k.blame, (atom, True), fact)
        ends |= UPPER
    if ends:
        k.set_bounds(atom, lo, hi)
        if lo == hi:
            k.replace(atom, k.pool.const(int(lo)))
    return ends


def propagate(k: Knowledge, changed: Iterable[Moved], fact: Fact) -> None:
    """Spread what is new about some atoms until nothing changes or the steps are used up."""
    queue = list(changed)
    steps = STEPS
    while queue and steps > 0:
        atom, ends = queue.pop()
        related = k.linear.get(atom)
        if related is not None:
            for relation in islice(related.that_narrow(ends), RELATIONS_SCANNED):
                steps -= 1
                condition = relation.condition
                queue.extend(narrow_terms(k, condition.expr, condition.op, relation.fact))
        for parent in atom.parents[-STEPS:]:
            steps -= 1
            if not _is_narrow(parent):
                continue
            moved = _forward(k, parent, fact)
            if ends & DEFINED or became_defined(k, parent):
                moved |= DEFINED
            if moved:
                queue.append((parent, moved))
            elif parent.lo > NINF or parent.hi < INF:
                queue.extend(_backward(k, parent, fact))
        if atom.op is not SYMBOL:
            steps -= 1
            queue.extend(_backward(k, atom, fact))
        if len(queue) > STEPS:
            queue = _merged(queue)


def newly_defined(k: Knowledge, atoms: Iterable[Atom]) -> list[Moved]:
    """The atoms made of the given ones that an excluded value has made defined."""
    parents = (parent for atom in atoms for parent in atom.parents[-STEPS:])
    return [(parent, DEFINED) for parent in parents if became_defined(k, parent)]


def _merged(queue: list[Moved]) -> list[Moved]:
    """The queue with one entry per atom."""
    ends: dict[Atom, int] = {}
    for atom, moved in queue:
        ends[atom] = ends.get(atom, 0) | moved
    return list(ends.items())


def _is_narrow(atom: Atom) -> bool:
    return all(type(a) is not Expr or a.width <= WIDE for a in atom.args)


def narrow_terms(k: Knowledge, e: Expr, op: Op, fact: Fact) -> list[Moved]:
    """Tighten the atoms of `e` from `e >= 0` or `e == 0`; return those that changed."""
    changed = _from_lower_bound(k, terms(e), e.c, 1, fact)
    if op == boolean.EQ:
        changed += _from_lower_bound(k, terms(e), e.c, -1, fact)
    return changed


def narrow_sum(k: Knowledge, e: Expr, lo: Bound, hi: Bound, fact: Fact) -> list[Moved]:
    """Tighten the atoms of `e` from `lo <= e <= hi`; return those that changed."""
    changed: list[Moved] = []
    if lo > NINF:
        changed += _from_lower_bound(k, terms(e), e.c - int(lo), 1, fact)
    if hi < INF:
        changed += _from_lower_bound(k, terms(e), e.c - int(hi), -1, fact)
    return changed


def _from_lower_bound(
    k: Knowledge, of_e: dict[Atom, int], c: int, sign: int, fact: Fact
) -> list[Moved]:
    """Tighten atoms from sign * (c + sum) >= 0: each makes up for the others' largest values."""
    total: Bound = sign * c
    unbounded: Atom | None = None
    for atom, coefficient in of_e.items():
        m = sign * coefficient
        end = atom.hi if m > 0 else atom.lo
        if end in (INF, NINF):
            if unbounded is not None:
                return []
            unbounded = atom
        else:
            total += m * end
    if total < 0 and unbounded is None:
        blamed = next(iter(of_e))
        against = k.blame.get((blamed, sign * of_e[blamed] > 0))
        raise ContradictionError("the condition is below its range", against)
    changed = []
    for atom in of_e if unbounded is None else (unbounded,):
        m = sign * of_e[atom]
        if m > 0:
            others = total - m * atom.hi if unbounded is None else total
            moved = narrow_atom(k, atom, ceil_div(-others, m), INF, fact)
        else:
            others = total - m * atom.lo if unbounded is None else total
            moved = narrow_atom(k, atom, NINF, floor_div(others, -m), fact)
        if moved:
            changed.append((atom, moved))
    return changed


def _forward(k: Knowledge, atom: Atom, fact: Fact) -> int:
    """Tighten the range of an atom from its operands; return which ends moved."""
    try:
        return narrow_atom(k, atom, *atom_interval(atom), fact)
    except ContradictionError:
        if has_value(k, atom):
            raise
        return 0  # it has no value, which is no contradiction


def _backward(k: Knowledge, atom: Atom, fact: Fact) -> list[Moved]:
    """Tighten the operands of an atom from its own range."""
    if not _is_narrow(atom) or not has_value(k, atom):
        return []
    op = atom.op
    if op is FLOORDIV:
        x, y = atom.exprs
        if not y.is_const:
            return []
        return narrow_sum(k, x, *inverse_floordiv(Interval(atom.lo, atom.hi), y.c), fact)
    if op is PRODUCT:
        return _backward_product(k, atom, fact)
    if op is MAXIMUM:
        lowest = atom.lo if len(atom.args) == 1 and atom.lo > 0 else NINF
        changed: list[Moved] = []
        for e in atom.exprs:
            changed += narrow_sum(k, e, lowest, atom.hi, fact)
        return changed
    if op is GROUP:
        return narrow_sum(k, atom.exprs[0], atom.lo, atom.hi, fact)
    return []


def _backward_product(k: Knowledge, atom: Atom, fact: Fact) -> list[Moved]:
    changed: list[Moved] = []
    for i, exponent in enumerate(atom.data):
        others = Interval(1, 1)
        for j, power in enumerate(atom.data):
            if j != i:
                e = atom.exprs[j]
                others = others.mul(Interval(e.lo, e.hi).power(power))
        solutions = inverse_mul(Interval(atom.lo, atom.hi), others)
        if solutions is None:
            raise ContradictionError(
                f"no factor makes {k.brief(atom.node)} be in [{atom.lo}, {atom.hi}]",
                k.blame.get((atom, True)),
            )
        factor = atom.exprs[i]
        if exponent == 1:
            changed += narrow_sum(k, factor, *solutions, fact)
        elif exponent == 2 and solutions.hi < INF:
            root = isqrt(int(solutions.hi)) if solutions.hi >= 0 else -1
            changed += narrow_sum(k, factor, -root, root, fact)
    return changed
