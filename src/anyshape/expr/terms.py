"""From a lazy sum to its terms, and from terms to a node.

`terms(e)` is linear in the number of pending additions below `e`, however they share operands, and
is remembered on the node. The dictionaries are shared between nodes: never change one.
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

STALE_OPERANDS: Final = 16


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
    """Make the bounds of `e` as tight as the sum of its atoms' bounds is now."""
    if is_fresh(e) or (e.terms is None and _refresh_pending(e)):
        return
    version = e.pool.ranges
    lo, hi, e.sign = _composed(terms(e), e.c)
    if lo > e.lo or hi < e.hi:
        tighten(e, lo, hi)
    e.version = version


def _refresh_pending(e: Expr) -> bool:
    """Refresh a pending sum from its operands, where few of those are stale; else say False.

    Operands whose atoms are apart in age share none, so nothing cancels, and the sum of their fresh
    bounds is as tight as the sum over the atoms.
    """
    version = e.pool.ranges
    stale = [e]
    for node in stale:  # grows while it is walked
        left, right = node.left, node.right
        if (
            node.terms is not None
            or left is None
            or right is None
            or not (left.newest < right.oldest or right.newest < left.oldest)
            or len(stale) > STALE_OPERANDS
        ):
            return False
        stale.extend(operand for operand in (left, right) if not is_fresh(operand))
    for node in reversed(stale):
        left, right, k = node.left, node.right, node.times
        assert left is not None
        assert right is not None
        ends = (k * right.lo, k * right.hi)
        c = node.c - left.c - k * right.c
        lo, hi = left.lo + min(ends) + c, left.hi + max(ends) + c
        if lo > node.lo or hi < node.hi:
            tighten(node, lo, hi)
        node.version = version
    return True


def content(terms_: Iterable[int]) -> int:
    """The greatest common divisor of the coefficients."""
    g = 0
    for k in terms_:
        g = gcd(g, k)
        if g == 1:
            break
    return g
