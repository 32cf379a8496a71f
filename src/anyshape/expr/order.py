"""Which of two sums comes first, and which of `e` and `-e` is the positive one.

    e is negative   if its leading coefficient is: the one of its newest atom
    x < y           if the coefficient of the oldest atom that they differ in is less in x

Both depend on the atoms alone, which are numbered as they are made, so equal programs get equal
forms and texts in every process. The sign is found in O(1) on most lazy sums, because the newest
atom was added last. The order is total up to constants and compatible with addition and positive
factors: x < y iff x + z < y + z iff k*x < k*y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr.node import NEVER
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.expr.node import Expr
    from anyshape.expr.terms import Terms


def is_negative(e: Expr) -> bool:
    """Whether `e` is the negative one of `e` and `-e`; a constant by its value."""
    sign = e.sign
    if sign:
        return sign < 0
    left, right = e.left, e.right
    if left is not None and right is not None and left.newest != right.newest:
        sign = left.sign if left.newest > right.newest else e.times * right.sign
        if sign:  # of the operand with the newest atom
            return sign < 0
    return (leading(e) or e.c) < 0


def leading(e: Expr) -> int:
    """The coefficient of the newest atom, 0 for a constant.

    Goes down to the operand with the newest atom, which is one step for most lazy sums. The others
    have only older atoms, which is checked against the atom that is found: on a pending sum,
    `newest` only says that no atom is newer, and terms may have cancelled.
    """
    top, multiple, others = e, 1, -1
    while True:
        known = e.terms
        if known is not None:
            if not known or e.newest <= others:
                break
            return multiple * known[e.pool.by_index[e.newest]]
        left, right = e.left, e.right
        if right is None or (left is not None and left.newest > right.newest):
            assert left is not None
            e, others = left, max(others, -1 if right is None else right.newest)
        else:
            others = max(others, -1 if left is None else left.newest)
            e, multiple = right, multiple * e.times
    of_top = terms(top)
    return of_top[top.pool.by_index[top.newest]] if of_top else 0


def compare(x: Expr, y: Expr) -> int:
    """Less than 0, 0 or more than 0 as x < y, x = y or x > y, up to their constants."""
    if x is y:
        return 0
    of_x, of_y, by_index = terms(x), terms(y), x.pool.by_index
    if x.oldest < y.oldest:  # no atom of y is as old
        return of_x.get(by_index[x.oldest], 0) or _difference(of_x, of_y)
    if y.oldest < x.oldest:
        return -of_y.get(by_index[y.oldest], 0) or _difference(of_x, of_y)
    return _difference(of_x, of_y)


def _difference(of_x: Terms, of_y: Terms) -> int:
    """How much the coefficients of the oldest atom differ in which they do; 0 if in none."""
    oldest, difference = NEVER, 0
    for atom, k in of_x.items():
        if atom.index < oldest and of_y.get(atom) != k:
            oldest, difference = atom.index, k - of_y.get(atom, 0)
    for atom, k in of_y.items():
        if atom.index < oldest and atom not in of_x:
            oldest, difference = atom.index, -k
    return difference


def linear_part(e: Expr) -> Expr:
    """`e` without its constant."""
    return e.shift(-e.c) if e.c else e
