"""The exact comparison behind every equality that an intern key claims.

A node found by its key may have been made of other operands than those at hand. Where the terms are
few, they are compared. Else the comparison is made on the operands: in the difference, equal nodes
cancel, and the widest node that is left is replaced by its operands, until nothing is left or
EXPANSIONS is reached; then the terms of the rest are added up. So the equality of
`(total - prefix) - u` and `total - (prefix + u)` costs a few steps, however long they are, and the
worst case is linear in the number of terms.

What was proved is remembered by the pool. What is wrong, which happens by chance with a probability
below 2**-118 per pair of sums, refuses the operation.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from anyshape.expr.node import refuse_collision
from anyshape.expr.terms import add_into, terms

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr

EXPANSIONS: Final = 32
SHORT: Final = 8


def confirm(node: Expr, left: Expr | None, right: Expr | None, k: int) -> None:
    """Refuse unless `node` is `left + k*right` up to the constant; None stands for no operand.

    The constants agree where the rest does, because the keys do.
    """
    if _is_made_of(node, left, right, k):
        return
    confirmed = node.pool.confirmed
    if (node, left, right) in confirmed or (k == 1 and (node, right, left) in confirmed):
        return
    if (left is None or left.width <= SHORT) and (right is None or right.width <= SHORT):
        out: dict[Atom, int] = {} if left is None else terms(left)
        if right is not None:
            out = out.copy()
            add_into(out, terms(right), k)
        is_exact = out == terms(node)
    else:
        is_exact = _is_sum(node, left, right, k)
    if not is_exact:
        refuse_collision()
    confirmed.add((node, left, right))


def _is_made_of(node: Expr, left: Expr | None, right: Expr | None, k: int) -> bool:
    """Whether what `node` or an operand was first made of proves the claim.

        y + x = x + y    (x + y) - x = y    (x + y) - y = x    (x - y) + y = x    x - x = 0
        (k*x) / k = x

    By its key, a node is one combination only of the same operands, see `Expr`.
    """
    if left is None or right is None:
        return right is not None and right.right is node and right.left is None
    if left is right:
        return k == -1
    if left.left is node:
        return left.right is right
    if left.right is node:
        return left.left is right and k == -1
    return k == 1 and node.left is right and node.right is left


def _is_sum(node: Expr, left: Expr | None, right: Expr | None, k: int) -> bool:
    difference = _Difference()
    difference.add(node, -1)
    difference.add(left, 1)
    difference.add(right, k)
    return difference.is_zero()


class _Difference:
    """A sum of multiples of nodes, without their constants."""

    def __init__(self) -> None:
        self.times: dict[Expr, int] = {}
        self.widest: list[tuple[int, int, Expr]] = []
        self.count = 0

    def add(self, e: Expr | None, k: int) -> None:
        if e is None:
            return
        if e not in self.times:
            self.count += 1
            heappush(self.widest, (-e.width, self.count, e))
        self.times[e] = self.times.get(e, 0) + k

    def is_zero(self) -> bool:
        rest: dict[Atom, int] = {}
        steps = 0
        while self.widest:
            e = heappop(self.widest)[2]
            k = self.times.pop(e)
            if not k:
                continue
            if e.terms is not None or steps == EXPANSIONS:
                add_into(rest, terms(e), k)
            else:
                steps += 1
                self.add(e.left, k)
                self.add(e.right, k * e.times if e.right is not None else 0)
        return not rest
