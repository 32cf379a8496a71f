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

from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.expr.node import Atom, Expr


def is_negative(e: Expr) -> bool:
    """Whether `e` is the negative one of `e` and `-e`; a constant by its value."""
    if e.sign:
        return e.sign < 0
    leading = _leading(e)
    return (leading or e.c) < 0


def _leading(e: Expr) -> int:
    """The coefficient of the newest atom, 0 for a constant.

    Goes down to the operand with the newest atom, which is one step for most lazy sums. The others
    have only older atoms, which is checked against the atom that is found: `newest` only says that
    no atom is newer, and terms may have cancelled.
    """
    top, multiple, others = e, 1, -1
    while True:
        parts = e.parts
        if isinstance(parts, dict):
            newest = newest_atom(e)
            if newest is None or newest.index <= others:
                break
            return multiple * parts[newest]
        if len(parts) == 3:
            a, b, k = parts
            if a.newest > b.newest:
                e, others = a, max(others, b.newest)
            else:
                e, others, multiple = b, max(others, a.newest), multiple * k
        else:
            multiple *= parts[1] if len(parts) == 2 else 1
            e = parts[0]
    newest = newest_atom(top)
    return 0 if newest is None else terms(top)[newest]


def newest_atom(e: Expr) -> Atom | None:
    """The newest atom of a sum; None for a constant. Makes `e.newest` exact."""
    of_e = terms(e)
    if not of_e:
        return None
    newest = e.pool.by_index.get(e.newest)
    if newest not in of_e:
        newest = max(of_e, key=lambda a: a.index)
        e.newest = newest.index
    return newest


def compare(x: Expr, y: Expr) -> int:
    """Less than 0, 0 or more than 0 as x < y, x = y or x > y, up to their constants."""
    if x is y:
        return 0
    of_x, of_y = terms(x), terms(y)
    oldest: Atom | None = None
    for atom in {**of_x, **of_y}:
        if (oldest is None or atom.index < oldest.index) and of_x.get(atom, 0) != of_y.get(atom, 0):
            oldest = atom
    return 0 if oldest is None else of_x.get(oldest, 0) - of_y.get(oldest, 0)


def linear_part(e: Expr) -> Expr:
    """`e` without its constant."""
    return e.shift(-e.c) if e.c else e
