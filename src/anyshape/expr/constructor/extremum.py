"""Maximum, minimum and absolute value.

One op serves all: the atom `maximum(e1, ..., en)` is max(0, e1, ..., en). Every other maximum is
moved there by subtracting its smallest operand in the order of `anyshape.expr.order`,

    max(p, a, b) = p + max(0, a - p, b - p),     min(a, b) = -max(-a, -b),     |a| = max(a, -a),

which is the same operand after any common shift, so `max(a + x, b + x)` and `max(a, b) + x` are one
expression. So are `max(k*a, k*b)` and `k*max(a, b)` for k > 0, and all orders and nestings of a
maximum with less than FLATTEN_LIMIT operands.
"""

from __future__ import annotations

from functools import cmp_to_key
from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.domain.interval import Interval
from anyshape.expr.atom import intern_atom, within
from anyshape.expr.constructor.division import divide_exactly
from anyshape.expr.node import refuse_collision
from anyshape.expr.order import compare
from anyshape.expr.table.op import MAXIMUM
from anyshape.expr.table.row import builds
from anyshape.expr.terms import content, terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.node import Atom, Expr

FLATTEN_LIMIT: Final = 64


def maximum(operands: Iterable[Expr]) -> Expr:
    """The largest of the operands, of which there is at least one."""
    given = list(operands)
    best: dict[int, Expr] = {}  # by the keys of their linear parts
    for operand in _flattened(given):
        key = operand.linear_key
        other = best.get(key)
        if other is None:
            best[key] = operand
            continue
        if terms(other) != terms(operand):
            refuse_collision()
        if other.c < operand.c:
            best[key] = operand
    if len(best) == 2:
        pivot, other = best.values()
        if compare(other, pivot) < 0:
            pivot, other = other, pivot
        above = [other - pivot]
    else:
        pivot, *others = sorted(best.values(), key=cmp_to_key(compare))
        if not others:
            return pivot
        above = [e - pivot for e in others]
    g = 0
    for e in above:
        g = gcd(g, content(terms(e).values()), e.c)
    if g > 1:
        above = [divide_exactly(e, g) for e in above]
    atom = intern_atom(pivot.pool, MAXIMUM, tuple(above))
    lo, hi = given[0].lo, given[0].hi
    for e in given:
        lo, hi = max(lo, e.lo), max(hi, e.hi)
    return within(pivot + atom.node.scale(g), Interval(lo, hi))


@builds(MAXIMUM)
def _maximum(*operands: Expr) -> Expr:
    return maximum((operands[0].pool.zero, *operands))


def minimum(operands: Iterable[Expr]) -> Expr:
    """The smallest of the operands, of which there is at least one."""
    return -maximum([-e for e in operands])


def absolute(e: Expr) -> Expr:
    """The absolute value of `e`."""
    return maximum((e, -e))


def _flattened(operands: list[Expr]) -> list[Expr]:
    """The operands, with `rest + k*max(0, e, ...)` as `rest, rest + k*e, ...` for k > 0.

    A maximum inside another one of the same sum stays, as in `a + m - max(0, a + m - b)`, which is
    min(a + m, b): operands would become more with each nesting, and none would be found equal.
    """
    out: list[Expr] = []
    for operand in operands:
        inner: Atom | None = None
        maxima = 0
        others: list[Atom] = []
        for atom, k in terms(operand).items():
            if atom.op is MAXIMUM:
                if k > 0:
                    maxima += 1
                    inner = atom
                else:
                    others.append(atom)
        if inner is None or maxima > 1 or any(_contains(atom, inner) for atom in others):
            out.append(operand)
        elif len(out) + len(inner.args) < FLATTEN_LIMIT:
            atom, k = inner, terms(operand)[inner]
            rest = operand - atom.node.scale(k)
            out.append(rest)
            out.extend(rest + e.scale(k) for e in atom.exprs)
        else:
            out.append(operand)
    return out


def _contains(outer: Atom, inner: Atom) -> bool:
    """Whether an operand of the maximum `outer` is a sum with `inner`."""
    return any(inner in terms(e) for e in outer.exprs)
