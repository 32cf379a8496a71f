"""Integer expressions: interned linear sums over atoms, with O(1) addition.

The value of an `Expr` is `c + sum(coefficient * atom)`. An atom is a symbol or one application of
a non-linear op (`floordiv`, `maximum`, a product, ...) to smaller expressions.

Invariants
    * Interned: one object per value form and pool, so `is` is structural equality, in any order of
      summation. The intern key is the integer `c * ONE + sum(coefficient * atom.weight)`, with a
      random 120-bit `weight` per atom, drawn anew in every process: keys of sums add up.
    * Exact: equal forms have equal keys, so a key that is not taken makes a new object. A key that
      is taken only claims equality. The claim is proved by `left` and `right` where they are the
      operands at hand, else by comparing terms (`anyshape.expr.exact`), once per pair of operands;
      if it is wrong, the operation is refused. Nothing but identity depends on a key: no text, no
      order and no sign (`anyshape.expr.order`).
    * Lazy: `a + b` stores its two operands. The dictionary of terms is made on demand by
      `anyshape.expr.terms.terms`, once, and never changes the value.
    * `lo <= value <= hi` always; `hint` is the value under the hints of the symbols, or None when
      an atom has none. Bounds only ever tighten, so a stale bound is still true.
    * `lo, hi` are as tight as the sum of the atoms' own bounds were at the change of ranges number
      `version`; STALE when that is not known, because terms of the operands may cancel. They do
      not when the operands' atoms are apart in age (`oldest` to `newest`), or all have one sign.
    * Constants and coefficients stay below about 2**256; beyond, `UnsupportedError`.

This module does not decide anything and does not know about facts.
"""

from __future__ import annotations

from math import inf
from secrets import token_bytes
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeAlias

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused

if TYPE_CHECKING:
    from anyshape.domain.bound import Bound
    from anyshape.expr.boolean import Bool
    from anyshape.expr.pool import Pool
    from anyshape.expr.real import Real
    from anyshape.expr.table.op import Op

    Operand: TypeAlias = "Expr | Bool | Real"
    Terms: TypeAlias = "dict[Atom, int]"

STALE: Final = -1
ALWAYS: Final = 1 << 60  # the version of atoms and constants: their bounds are never behind
NEVER: Final = 1 << 62
MAGNITUDE_BITS: Final = 256
LARGEST: Final = 1 << MAGNITUDE_BITS  # of constants and coefficients
WEIGHT_BITS: Final = 120
# A multiple of a weight by more than LARGEST is beyond it.
KEY_LIMIT: Final = 1 << (WEIGHT_BITS - 1 + MAGNITUDE_BITS)


def draw_weights(count: int) -> list[int]:
    """Random numbers of WEIGHT_BITS bits, the highest of which is 1."""
    size = WEIGHT_BITS // 8
    drawn = token_bytes(count * size)
    return [
        int.from_bytes(drawn[i : i + size], "big") | 1 << (WEIGHT_BITS - 1)
        for i in range(0, len(drawn), size)
    ]


(ONE,) = draw_weights(1)


class Interned:
    """What there is one of per pool: a copy is the object itself, and pickling is refused."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "an expression belongs to one pool and cannot be pickled; use show and parse"
        )


class Atom(Interned):
    """One symbol, or one non-linear op applied to operands; compared by identity.

    `index` grows with creation, also across conditions and reals, so everything inside the operands
    has a smaller one. `parents` are the atoms that have this one among the atoms of their operands.
    An atom may have no value, as a division by zero; its bounds are those of the values it has.
    """

    __slots__ = (
        "args",
        "data",
        "hi",
        "hint",
        "index",
        "lo",
        "name",
        "node",
        "op",
        "parents",
        "pool",
        "weight",
    )

    pool: Pool
    index: int
    weight: int
    op: Op
    args: tuple[Operand, ...]
    data: tuple[int, ...]
    name: str
    lo: Bound
    hi: Bound
    hint: int | None
    node: Expr
    parents: list[Atom]

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The operands of an op that takes integers only."""
        return self.args  # type: ignore[return-value]  # what the op says

    def __repr__(self) -> str:
        return f"<atom {self.name or self.op.name} #{self.index}>"


def make_node(
    pool: Pool, key: int, c: int, lo: Bound, hi: Bound, hint: int | None, terms: Terms, width: int
) -> Expr:
    """A new node under a key that is not taken; for this module and `anyshape.expr.terms`."""
    node = Expr.__new__(Expr)
    node.pool = pool
    node.key = key
    node.c = c
    node.lo = lo
    node.hi = hi
    node.quick_hint = hint
    node.terms = terms
    node.width = width
    node.version = STALE
    node.sign = 0 if width != 1 else 1
    node.oldest = NEVER
    node.newest = 0
    node.left = node.right = None
    pool.nodes[key] = node
    return node


def tighten(node: Expr, lo: Bound, hi: Bound) -> None:
    """Intersect the bounds of a node with `lo, hi`; whoever changes them calls this.

    Where nothing is left the node has no value, as after a division by zero; its bounds stay, so
    that what it cancels with is not bounded by nonsense.
    """
    if lo < node.lo:
        lo = node.lo
    if hi > node.hi:
        hi = node.hi
    if lo > hi:
        return
    watch = node.pool.on_tighten
    if watch is not None:
        watch(node)
    node.lo = lo
    node.hi = hi


class Expr(Interned):
    """An interned linear sum; see the module's invariants. Build with the operators.

    `terms` is the dictionary {atom: coefficient}, or None while the sum is pending. `left`, `right`
    and `times` are what the node was first made of: left + times*right; times*right where `left` is
    None; left up to the constant where `right` is None, and then `left` is not such a node itself;
    both are None where it was made of terms.
    By its key, a node is one combination only of the same operands. So an operation that finds a
    node with its own operands has found its result.

    `width` bounds the number of terms from above, see also `Pool.is_exact`. `sign` is 1 or -1 when
    all coefficients are known to have that sign, else 0; `oldest` and `newest` enclose the indices
    of the atoms, and are exact where the terms or a sign are known. `quick_hint` is the hint as
    composed from the operands: None also where an atom without a hint cancelled, which only a STALE
    sum can hide.
    """

    __slots__ = (
        "c",
        "hi",
        "key",
        "left",
        "lo",
        "newest",
        "oldest",
        "pool",
        "quick_hint",
        "right",
        "sign",
        "terms",
        "times",
        "version",
        "width",
    )

    pool: Pool
    key: int
    c: int
    lo: Bound
    hi: Bound
    quick_hint: int | None
    terms: Terms | None
    width: int
    version: int
    sign: int
    oldest: int
    newest: int
    left: Expr | None
    right: Expr | None
    times: int

    def __add__(self, other: Expr) -> Expr:
        pool = self.pool
        key = self.key + other.key
        node = pool.nodes.get(key)
        try:
            lo = self.lo + other.lo
            hi = self.hi + other.hi
        except OverflowError:  # an infinity and an integer too large for a float
            lo, hi = -inf, inf
        if node is not None:
            if (node.left is not self or node.right is not other) and (
                (node, self, other) not in pool.confirmed
            ):
                pool.confirm(node, self, other, 1)
            if lo > node.lo or hi < node.hi:
                tighten(node, lo, hi)
            return node
        node = _new(Expr)
        node.pool = pool
        node.key = key
        node.c = self.c + other.c
        node.lo = lo
        node.hi = hi
        a = self.quick_hint
        b = other.quick_hint
        node.quick_hint = None if a is None or b is None else a + b
        node.terms = None
        node.left = self
        node.right = other
        node.times = 1
        node.width = self.width + other.width
        old, new = self.oldest, self.newest
        older, newer = other.oldest, other.newest
        sign = self.sign
        if sign != other.sign:
            sign = 0
        node.sign = sign
        node.oldest = old if old < older else older
        node.newest = new if new > newer else newer
        if new < older or newer < old:
            now = pool.ranges
            v = self.version
            w = other.version
            if v < now and pool.is_untouched(self):
                v = now
            if w < now and pool.is_untouched(other):
                w = now
            node.version = now if v >= now <= w else v if v < w else w
        else:  # coefficients add up
            pool.is_exact = False
            node.version = min(self.version, other.version, pool.ranges) if sign else STALE
            if not -KEY_LIMIT < key < KEY_LIMIT:
                check_size(node)
        pool.nodes[key] = node
        return node

    def __sub__(self, other: Expr) -> Expr:
        pool = self.pool
        key = self.key - other.key
        node = pool.nodes.get(key)
        try:
            lo = self.lo - other.hi
            hi = self.hi - other.lo
        except OverflowError:
            lo, hi = -inf, inf
        if node is not None:
            if (node.left is not self or node.right is not other) and (
                (node, self, other) not in pool.confirmed
            ):
                pool.confirm(node, self, other, -1)
            if lo > node.lo or hi < node.hi:
                tighten(node, lo, hi)
            return node
        node = _new(Expr)
        node.pool = pool
        node.key = key
        node.c = self.c - other.c
        node.lo = lo
        node.hi = hi
        a = self.quick_hint
        b = other.quick_hint
        node.quick_hint = None if a is None or b is None else a - b
        node.terms = None
        node.left = self
        node.right = other
        node.times = -1
        node.width = self.width + other.width
        node.sign = 0
        old, new = self.oldest, self.newest
        older, newer = other.oldest, other.newest
        node.oldest = old if old < older else older
        node.newest = new if new > newer else newer
        if new < older or newer < old:
            now = pool.ranges
            v = self.version
            w = other.version
            if v < now and pool.is_untouched(self):
                v = now
            if w < now and pool.is_untouched(other):
                w = now
            node.version = now if v >= now <= w else v if v < w else w
        else:
            pool.is_exact = False
            node.version = STALE
            if not -KEY_LIMIT < key < KEY_LIMIT:
                check_size(node)
        pool.nodes[key] = node
        return node

    @property
    def linear_key(self) -> int:
        """The key without the constant; sums with different ones differ by more than that."""
        return self.key - self.c * ONE

    def __neg__(self) -> Expr:
        return self.scale(-1)

    def shift(self, k: int) -> Expr:
        """Return `self + k`."""
        if k == 0:
            return self
        pool = self.pool
        key = self.key + k * ONE
        node = pool.nodes.get(key)
        if node is not None:
            if node.left is not self or node.right is not None:
                base = self if self.right is not None else self.left or self
                if (node.left is not base or node.right is not None) and node is not base:
                    pool.confirm(node, base, None, 1)
            return node
        c = self.c + k
        if not -LARGEST <= c <= LARGEST:
            refuse(pool)
        node = _new(Expr)
        node.pool = pool
        node.key = key
        node.c = c
        node.lo = self.lo + k
        node.hi = self.hi + k
        hint = self.quick_hint
        node.quick_hint = None if hint is None else hint + k
        node.terms = self.terms
        node.left = self if self.right is not None else self.left or self
        node.right = None
        node.width = self.width
        node.sign = self.sign
        version = self.version
        node.version = pool.ranges if version == ALWAYS else version
        node.oldest = self.oldest
        node.newest = self.newest
        pool.nodes[key] = node
        return node

    def scale(self, k: int) -> Expr:
        """Return `k * self`."""
        if k == 1:
            return self
        pool = self.pool
        key = self.key * k
        node = pool.nodes.get(key)
        if node is not None:
            if (node.right is not self or node.left is not None) and k:
                pool.confirm(node, None, self, k)
            return node
        node = _new(Expr)
        node.pool = pool
        node.key = key
        node.c = self.c * k
        hint = self.quick_hint
        node.quick_hint = None if hint is None else hint * k
        node.terms = None
        node.left = None
        node.right = self
        node.times = k
        node.width = self.width
        version = self.version
        node.version = pool.ranges if version == ALWAYS else version
        node.oldest = self.oldest
        node.newest = self.newest
        if not -KEY_LIMIT < key < KEY_LIMIT:
            check_size(node)
        if k > 0:
            node.lo = self.lo * k
            node.hi = self.hi * k
            node.sign = self.sign
        else:
            node.lo = self.hi * k
            node.hi = self.lo * k
            node.sign = -self.sign
        pool.nodes[key] = node
        return node

    @property
    def hint(self) -> int | None:
        """The value under the hints of the symbols, or None when an atom has none."""
        if self.quick_hint is None and self.version == STALE and self.terms is None:
            from anyshape.expr.terms import terms  # noqa: PLC0415  terms are made of nodes

            terms(self)  # which finds out
        return self.quick_hint

    @property
    def is_const(self) -> bool:
        """Whether the value is a constant."""
        terms = self.terms
        if terms is not None:
            return not terms
        return self.key == self.c * ONE and _has_no_terms(self)

    def __repr__(self) -> str:
        from anyshape.expr.text.show import brief  # noqa: PLC0415  a printer is no part of a node

        return brief(self)


_new = Expr.__new__


def _has_no_terms(e: Expr) -> bool:
    from anyshape.expr.terms import terms  # noqa: PLC0415  terms are made of nodes

    return not terms(e)


def check_size(e: Expr) -> None:
    """Refuse a node if it has too large a number; for nodes that are about to be interned."""
    from anyshape.expr.terms import terms  # noqa: PLC0415  terms are made of nodes

    if max(map(abs, (e.c, *terms(e).values()))) > LARGEST:
        refuse(e.pool)


def refuse(pool: Pool) -> NoReturn:
    """Raise the one error for integers too large for the engine's bounds."""
    raise refused(
        UnsupportedError,
        f"a symbolic integer with a constant or coefficient beyond 2**{MAGNITUDE_BITS}"
        f" ({len(pool.atoms)} atoms in the environment)",
        why="bounds of such numbers are not tracked",
        fix="keep sizes within 64 bits",
    )


def refuse_collision() -> NoReturn:
    """Raise the error for two different sums with one key."""
    raise refused(
        UnsupportedError,
        "two different symbolic integers have the same key",
        why="keys are random numbers, and these two met by chance",
        fix="run the program again: keys are drawn anew in each process",
    )
