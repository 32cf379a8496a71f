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
from typing import TYPE_CHECKING, Any, Final

from anyshape.expr.node import refuse_collision
from anyshape.expr.terms import add_into, terms

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr

EXPANSIONS: Final = 32
SHORT: Final = 8


def confirm(node: Expr, made: tuple[Any, ...]) -> None:
    """Refuse unless `node` is the sum of the pending parts `made`, up to the constant.

    The constants agree where the rest does, because the keys do.
    """
    confirmed = node.pool.confirmed
    proved = made if len(made) > 1 else (*made, node)  # a sum plus any constant
    if proved in confirmed:
        return
    if not (_is_short_sum(node, made) or _is_sum(node, made)):
        refuse_collision()
    confirmed.add(proved)
    if len(made) == 3 and made[2] == 1:
        confirmed.add((made[1], made[0], 1))


def _is_short_sum(node: Expr, made: tuple[Any, ...]) -> bool:
    """Whether the operands have few terms, which add up to those of `node`."""
    out: dict[Atom, int] = {}
    first, *times = made
    operands = [(first, 1), (times[0], times[1])] if len(times) == 2 else [(first, *(times or [1]))]
    for e, k in operands:
        if e.width > SHORT:
            return False
        add_into(out, terms(e), k)
    return out == terms(node)


def _is_sum(node: Expr, made: tuple[Any, ...]) -> bool:
    difference = _Difference()
    difference.add(node, -1)
    difference.expand(made, 1)
    return difference.is_zero()


class _Difference:
    """A sum of multiples of nodes, without their constants."""

    def __init__(self) -> None:
        self.times: dict[Expr, int] = {}
        self.widest: list[tuple[int, int, Expr]] = []
        self.count = 0

    def add(self, e: Expr, k: int) -> None:
        if e not in self.times:
            self.count += 1
            heappush(self.widest, (-e.width, self.count, e))
        self.times[e] = self.times.get(e, 0) + k

    def expand(self, parts: tuple[Any, ...], k: int) -> None:
        """Add `k` times what has these parts."""
        if len(parts) == 3:
            self.add(parts[0], k)
            self.add(parts[1], k * parts[2])
        else:
            self.add(parts[0], k * parts[1] if len(parts) == 2 else k)

    def is_zero(self) -> bool:
        rest: dict[Atom, int] = {}
        steps = 0
        while self.widest:
            e = heappop(self.widest)[2]
            k = self.times.pop(e)
            if not k:
                continue
            parts = e.parts
            if isinstance(parts, dict) or steps == EXPANSIONS:
                add_into(rest, terms(e), k)
            else:
                steps += 1
                self.expand(parts, k)
        return not rest
