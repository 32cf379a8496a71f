"""The difference of a sum and a prefix of it, without collecting terms.

A sum that grew by additions, `((a + b) + c) + ...`, is a chain from each node to the node before
it. Each node on a chain gets one more pointer, `far`, to an ancestor at a skew-binary distance
(Myers, 1983), with the bounds of the difference between the two. So the bounds of `long - prefix`
are the sum of O(log n) such bounds, after O(1) amortized work per node.

Only additions of one atom are links. So the bounds are never tighter than those of the terms: a
question that they answer is also answered by the terms, in more steps. They are those of the time
when a pointer was made: true, though perhaps not the tightest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from anyshape.domain import Bound
    from anyshape.expr import Expr

    Links = dict[Expr, "Link"]


class Link(NamedTuple):
    """How a node of a chain hangs on the node before it and on an ancestor far away.

    `lo, hi` bound `node - before`; `far_lo, far_hi` bound `node - far`. The root of a chain has
    depth 0 and hangs on itself.
    """

    depth: int
    before: Expr
    lo: Bound
    hi: Bound
    far: Expr
    far_lo: Bound
    far_hi: Bound


def between(links: Links, long: Expr, prefix: Expr) -> tuple[Bound, Bound] | None:
    """Bounds of `long - prefix`, where `prefix` is on the chain of `long`; else None."""
    _link(links, long)
    end = links.get(prefix)
    if end is None:
        return None
    lo: Bound = 0
    hi: Bound = 0
    node, link = long, links[long]
    while link.depth > end.depth:
        far = links[link.far]
        if far.depth >= end.depth:
            lo, hi, node, link = lo + link.far_lo, hi + link.far_hi, link.far, far
        else:
            lo, hi, node = lo + link.lo, hi + link.hi, link.before
            link = links[node]
    return (lo, hi) if node is prefix else None


def _link(links: Links, e: Expr) -> None:
    """Link every node of the chain of `e` that is not linked yet."""
    new: list[tuple[Expr, Bound, Bound]] = []
    while e not in links:
        left, right = e.left, e.right
        if left is None or (right is not None and (e.times != 1 or right.width != 1)):
            links[e] = Link(0, e, 0, 0, e, 0, 0)
            break
        if right is None:
            new.append((e, e.c - left.c, e.c - left.c))
        else:
            new.append((e, right.lo, right.hi))
        e = left
    before = e
    for node, lo, hi in reversed(new):
        near = links[before]
        far = links[near.far]
        if near.depth - far.depth == far.depth - links[far.far].depth:
            far_lo, far_hi = lo + near.far_lo + far.far_lo, hi + near.far_hi + far.far_hi
            links[node] = Link(near.depth + 1, before, lo, hi, far.far, far_lo, far_hi)
        else:
            links[node] = Link(near.depth + 1, before, lo, hi, before, lo, hi)
        before = node
