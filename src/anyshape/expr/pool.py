"""The intern tables of one environment, and the history of its atoms' bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.expr.exact import confirm
from anyshape.expr.node import (
    ALWAYS,
    LARGEST,
    NEVER,
    ONE,
    STALE,
    Atom,
    Expr,
    draw_weights,
    make_node,
    refuse,
    refuse_collision,
)
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.domain.bound import Bound
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Operand
    from anyshape.expr.real import Real
    from anyshape.expr.table.op import Op

BLOCK: Final = 6  # bits of an index within a block

_weights: Final[list[int]] = []  # of the first atoms of every pool


class Pool:
    """The intern tables of one environment; expressions of two pools never meet.

    `ranges` counts the changes of atoms' bounds, `changed_at` has the number of the last one by
    index of the atom, `blocks` the latest of each block of 64, and `latest` is the index of the
    atom that changed last. `on_tighten`, if set, is called with a node whose bounds are about to
    change. `by_index` has the atoms by their index. `directions` has the direction and factor of
    sums, `long` the pending ones that are known to be long. `confirmed` has the
    triples of a node and two operands that were proved to make it, see `anyshape.expr.exact`.
    `is_exact` until a sum is made whose operands are not apart in age: so long, every `width` is
    the number of terms.
    """

    __slots__ = (
        "atoms",
        "blocks",
        "bools",
        "by_index",
        "by_name",
        "changed_at",
        "confirmed",
        "count",
        "directions",
        "is_exact",
        "latest",
        "long",
        "memo",
        "nodes",
        "on_tighten",
        "ranges",
        "reals",
        "zero",
    )

    confirm = staticmethod(confirm)  # for nodes, which `exact` is made of

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.by_index: dict[int, Atom] = {}
        self.confirmed: set[tuple[Expr, Expr | None, Expr | None]] = set()
        self.directions: dict[Expr, tuple[Expr, int]] = {}
        self.long: set[Expr] = set()
        self.is_exact = True
        self.nodes: dict[int, Expr] = {}
        self.bools: dict[object, Bool] = {}
        self.reals: dict[object, Real] = {}
        self.memo: dict[object, Atom] = {}
        self.by_name: dict[str, Expr | Real] = {}
        self.ranges = 0
        self.changed_at: list[int] = []
        self.blocks: list[int] = []
        self.latest = 0
        self.on_tighten: Callable[[Expr], None] | None = None
        self.count = 0
        self.zero = self.const(0)

    def next_index(self) -> int:
        """The next number in the order of creation of atoms, conditions and reals."""
        self.count += 1
        return self.count

    def changed(self, atom: Atom) -> None:
        """Note that the bounds of an atom were changed."""
        self.ranges += 1
        self.latest = index = atom.index
        changed_at = self.changed_at
        if index >= len(changed_at):
            changed_at.extend([0] * (index + 64 - len(changed_at)))
            self.blocks.extend([0] * ((len(changed_at) >> BLOCK) + 1 - len(self.blocks)))
        changed_at[index] = self.blocks[index >> BLOCK] = self.ranges

    def is_untouched(self, e: Expr) -> bool:
        """Whether no atom between the oldest and the newest of `e` changed after its version."""
        since = e.version
        if since == STALE:
            return False
        low, high = e.oldest, e.newest
        if since == self.ranges - 1:  # one change since then
            if low <= self.latest <= high:
                return False
            e.version = self.ranges
            return True
        first, last = (low >> BLOCK) + 1, high >> BLOCK
        changed_at = self.changed_at
        if first >= last:
            changes = changed_at[low : high + 1]
        else:  # the edges by atom, all between them by block
            changes = changed_at[low : first << BLOCK]
            changes += changed_at[last << BLOCK : high + 1]
            changes += self.blocks[first:last]
        if changes and max(changes) > since:
            return False
        e.version = self.ranges
        return True

    def const(self, value: int) -> Expr:
        """The constant `value`."""
        key = value * ONE
        node = self.nodes.get(key)
        if node is None:
            if not -LARGEST <= value <= LARGEST:
                refuse(self)
            node = make_node(self, key, value, value, value, value, {}, 0)
        elif node.width or node.lo != node.hi:  # a sum whose terms cancelled
            if terms(node):
                refuse_collision()
            node.terms = {}
            node.width = node.sign = 0
            node.lo = node.hi = node.quick_hint = value
            node.oldest, node.newest = NEVER, 0
        node.version = ALWAYS
        return node

    def atom(
        self,
        op: Op,
        args: tuple[Operand, ...],
        data: tuple[int, ...],
        bounds: tuple[Bound, Bound],
        hint: int | None,
        name: str = "",
    ) -> Atom:
        """A new atom. Callers intern non-symbols through `memo` first."""
        atoms = self.atoms
        if len(atoms) == len(_weights):
            _weights.extend(draw_weights(1024))
        weight = _weights[len(atoms)]
        if weight in self.nodes:
            refuse_collision()
        new = Atom.__new__(Atom)
        new.pool = self
        self.count = new.index = index = self.count + 1
        new.weight = weight
        atoms.append(new)
        self.by_index[index] = new
        new.op = op
        new.args = args
        new.data = data
        new.name = name
        new.lo, new.hi = lo, hi = bounds
        new.hint = hint
        new.parents = []
        new.node = node = make_node(self, weight, 0, lo, hi, hint, {new: 1}, 1)
        node.version = ALWAYS
        node.oldest = node.newest = index
        return new
