"""From a lazy sum to its terms, and from terms to a node; its bounds and its length without them.

`terms(e)` is linear in the number of pending additions below `e`, however they share operands, and
is remembered on the node. The dictionaries are shared between nodes: never change one. Fresh bounds
and the number of terms do not depend on whether the terms were collected.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.expr.node import (
    KEY_LIMIT,
    LARGEST,
    NEVER,
    ONE,
    STALE,
    Atom,
    Expr,
    make_node,
    refuse,
    refuse_collision,
    tighten,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.pool import Pool

    Terms = dict[Atom, int]

LONG: Final = 32
"""Sums of more terms are long: their terms are collected only where that is needed."""


def add_into(out: Terms, terms_: Terms, k: int) -> None:
    """Add `k` times `terms_` to `out`, dropping what cancels."""
    for atom, coefficient in terms_.items():
        total = out.get(atom, 0) + k * coefficient
        if total:
            out[atom] = total
        else:
            del out[atom]


def terms(e: Expr) -> Terms:
    """The dictionary {atom: non-zero coefficient} of `e`; the constant is `e.c`."""
    known = e.terms
    if known is not None:
        return known
    left, right = e.left, e.right
    if right is None:  # up to the constant: the same dictionary
        assert left is not None
        return _remember(e, terms(left))
    of_right = right.terms
    if of_right is not None:
        k = e.times
        if left is None:
            return _remember(e, {atom: k * m for atom, m in of_right.items()})
        of_left = left.terms
        if of_left is not None:
            out = of_left.copy()
            add_into(out, of_right, k)
            return _remember(e, out)
    found = _left_chain(e, 1)
    return _remember(e, _shared_graph(e) if found is None else found)


def _remember(e: Expr, out: Terms) -> Terms:
    e.terms = out
    if len(out) != e.width:  # atoms met, and may have cancelled
        e.width = len(out)
        ages = [atom.index for atom in out]
        e.oldest, e.newest = min(ages, default=NEVER), max(ages, default=0)
    if e.quick_hint is None and e.version == STALE:
        e.quick_hint = _hint(out, e.c)
    return out


def _left_chain(e: Expr, depth: int) -> Terms | None:
    """The terms of `((x + y) + z) + ...` whose right operands are known, or such chains themselves
    down to a depth; None for other shapes.
    """
    out: Terms = {}
    multiple = 1
    while True:
        known = e.terms
        if known is not None:
            if multiple == 1 and len(known) > len(out):
                longer = known.copy()
                add_into(longer, out, 1)
                return longer
            add_into(out, known, multiple)
            return out
        left, right = e.left, e.right
        if left is None:
            assert right is not None
            multiple *= e.times
            left = right
        elif right is not None:
            of_right = right.terms
            if of_right is None:
                of_right = _left_chain(right, depth - 1) if depth else None
                if of_right is None:
                    return None
                _remember(right, of_right)
            add_into(out, of_right, multiple * e.times)
        e = left


def _shared_graph(e: Expr) -> Terms:
    """The terms of any graph of pending sums: each node's multiplicity flows to its operands."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, finished = stack.pop()
        if finished:
            order.append(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        if node.terms is None:
            stack.extend((x, False) for x in (node.left, node.right) if x is not None)
    times = dict.fromkeys(order, 0)
    times[e] = 1
    out: Terms = {}
    for node in reversed(order):
        multiple = times[node]
        if not multiple:
            continue
        if node.terms is not None:
            add_into(out, node.terms, multiple)
            continue
        if node.left is not None:
            times[node.left] += multiple
        if node.right is not None:
            times[node.right] += multiple * node.times
    return out


def from_terms(pool: Pool, terms_: Terms, c: int) -> Expr:
    """The node with these terms and constant; `terms_` belongs to it afterwards."""
    key = c * ONE
    for atom, k in terms_.items():
        key += k * atom.weight
    if not -KEY_LIMIT < key < KEY_LIMIT and max(map(abs, (c, *terms_.values()))) > LARGEST:
        refuse(pool)
    node = pool.nodes.get(key)
    if node is not None:
        if terms(node) != terms_:
            refuse_collision()
    else:
        if not terms_:
            return pool.const(c)
        lo, hi, sign = _composed(terms_, c)
        node = make_node(pool, key, c, lo, hi, _hint(terms_, c), terms_, len(terms_))
        node.sign = sign
        node.version = pool.ranges
        ages = [atom.index for atom in terms_]
        node.oldest, node.newest = min(ages), max(ages)
    return node


def _composed(terms_: Terms, c: int) -> tuple[int | float, int | float, int]:
    lo: int | float = c
    hi: int | float = c
    positive = negative = False
    for atom, k in terms_.items():
        if k > 0:
            positive = True
            lo += k * atom.lo
            hi += k * atom.hi
        else:
            negative = True
            lo += k * atom.hi
            hi += k * atom.lo
    return lo, hi, (0 if positive == negative else 1 if positive else -1)


def _hint(terms_: Terms, c: int) -> int | None:
    for atom, k in terms_.items():
        if atom.hint is None:
            return None
        c += k * atom.hint
    return c


def is_fresh(e: Expr) -> bool:
    """Whether the bounds of `e` are already as tight as its atoms' bounds make them."""
    pool = e.pool
    return e.version >= pool.ranges or pool.is_untouched(e)


def refresh(e: Expr) -> None:
    """Make the bounds of `e` as tight as the bounds of its atoms make them now.

        fresh(k*x + c) = k*fresh(x) + c
        fresh(x + y)   = fresh(x) + fresh(y)                 where no terms cancel
                       = the sum over the atoms, and that    where they may
        fresh(terms)   = the sum over the atoms

    A sum that was made of operands is composed of them, whether or not its terms were collected,
    because an operand such as a remainder is bounded more tightly than its atoms are. Symbols are
    not, so a sum of symbols whose terms are at hand is composed of those.
    """
    if is_fresh(e):
        return
    if e.terms is not None and _is_plain(e):
        _refresh_from_terms(e)
        e.version = e.pool.ranges
        return
    stack = [e]
    while stack:
        node = stack[-1]
        may_cancel = not node.sign and not are_apart(node.left, node.right)
        if may_cancel:
            terms(node)
        is_plain = node.terms is not None and _is_plain(node)
        behind = () if is_plain else _stale_operands(node)
        if behind:
            stack.extend(behind)
            continue
        stack.pop()
        if is_fresh(node):
            continue
        if not is_plain:
            _compose(node)
        if is_plain or may_cancel:
            _refresh_from_terms(node)
        node.version = node.pool.ranges


def _is_plain(e: Expr) -> bool:
    """Whether all atoms of a sum with terms are symbols, or it was made of terms."""
    return (e.left is None and e.right is None) or not any(a.args for a in terms(e))


def _stale_operands(e: Expr) -> list[Expr]:
    return [x for x in (e.left, e.right) if x is not None and not is_fresh(x)]


def _refresh_from_terms(e: Expr) -> None:
    lo, hi, e.sign = _composed(terms(e), e.c)
    if lo > e.lo or hi < e.hi:
        tighten(e, lo, hi)


def _compose(e: Expr) -> None:
    """Tighten a node by its operands, which are fresh."""
    left, right = e.left, e.right
    lo: int | float = e.c
    hi: int | float = e.c
    if left is not None:
        lo, hi = left.lo + (lo - left.c), left.hi + (hi - left.c)
    if right is not None:
        k = e.times
        ends = (k * (right.lo - right.c), k * (right.hi - right.c))
        lo, hi = lo + min(ends), hi + max(ends)
    if lo > e.lo or hi < e.hi:
        tighten(e, lo, hi)
    if e.terms is None:
        _summarize(e, left, right)


def are_apart(left: Expr | None, right: Expr | None) -> bool:
    """Whether no atom of one operand is as old as one of the other; None stands for no operand."""
    if left is None or right is None:
        return True
    return left.newest < right.oldest or right.newest < left.oldest


def _summarize(e: Expr, left: Expr | None, right: Expr | None) -> None:
    """Bound the number and the ages of the terms again: those of an operand may have cancelled."""
    operands = [x for x in (left, right) if x is not None]
    e.width = sum(x.width for x in operands)
    e.oldest = min(x.oldest for x in operands)
    e.newest = max(x.newest for x in operands)


def has_more_terms(e: Expr, than: int) -> bool:
    """Whether `e` has more terms than a number up to LONG; its width may count too many."""
    if e.width <= than:
        return False
    pool = e.pool
    if pool.is_exact:
        return True
    if e.terms is None and e.width > LONG:
        long = pool.long
        if e in long or (e.right is None and e.left in long) or _is_long(e):
            return True
    return len(terms(e)) > than


def _is_long(e: Expr) -> bool:
    """Whether a wide pending sum has more terms than LONG.

    Operands that are apart in age keep all their terms, so a sum of them is long if one is. The
    pool remembers the long ones, and each is looked at once.
    """
    long = e.pool.long
    above: list[tuple[Expr, Expr | None]] = []
    while e.terms is None and e.width > LONG and e not in long and are_apart(e.left, e.right):
        wider, narrower = e.left, e.right
        if wider is None or (narrower is not None and narrower.width > wider.width):
            wider, narrower = narrower, wider
        assert wider is not None
        above.append((e, narrower))
        e = wider
    if e in long:
        count = LONG + 1
    elif e.terms is None and e.left is not None and e.right is not None and e.width > LONG:
        count = _count_met(e.left, e.right, e.times)
    else:
        count = len(terms(e))
    for node, narrower in reversed(above):
        if count <= LONG and narrower is not None:
            more = has_more_terms(narrower, LONG)
            count += LONG + 1 if more else len(terms(narrower))
        if count > LONG:
            long.add(node)
    return count > LONG


def _count_met(left: Expr, right: Expr, k: int) -> int:
    """The number of terms of `left + k*right`; those of the shorter one are looked up."""
    of_left, of_right = terms(left), terms(right)
    if len(of_left) < len(of_right):
        short, long, by_short, by_long = of_left, of_right, 1, k
    else:
        short, long, by_short, by_long = of_right, of_left, k, 1
    count = len(long)
    for atom, m in short.items():
        met = long.get(atom)
        if met is None:
            count += 1
        elif by_long * met + by_short * m == 0:
            count -= 1
    return count


def content(terms_: Iterable[int]) -> int:
    """The greatest common divisor of the coefficients."""
    g = 0
    for k in terms_:
        g = gcd(g, k)
        if g == 1:
            break
    return g
