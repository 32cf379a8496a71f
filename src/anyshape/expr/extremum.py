"""Maximum, minimum and absolute value.

One op serves all: the atom `maximum(e1, ..., en)` is max(0, e1, ..., en). Every other maximum is
moved there by subtracting its operand with the smallest linear key,

    max(p, a, b) = p + max(0, a - p, b - p),     min(a, b) = -max(-a, -b),     |a| = max(a, -a),

which is the same operand after any common shift, so `max(a + x, b + x)` and `max(a, b) + x` are one
expression, and so are all orders and nestings of a maximum.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from anyshape.expr.atom import intern_atom
from anyshape.expr.division import divide_exactly
from anyshape.expr.op import MAXIMUM
from anyshape.expr.terms import content, from_terms, terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyshape.expr.node import Expr

FLATTEN_LIMIT: Final = 64


def maximum(operands: Iterable[Expr]) -> Expr:
    """The largest of the operands, of which there is at least one."""
    best: dict[int, Expr] = {}
    for operand in _flattened(list(operands)):
        key = operand.linear_key
        other = best.get(key)
        if other is None or other.c < operand.c:
            best[key] = operand
    pivot = best.pop(min(best))
    if not best:
        return pivot
    above = [e - pivot for _, e in sorted(best.items())]
    g = gcd(*(gcd(content(terms(e).values()), e.c) for e in above))
    if g > 1:
        above = [divide_exactly(e, g) for e in above]
    atom = intern_atom(pivot.pool, MAXIMUM, tuple(above), ())
    return pivot + atom.node.scale(g)


def minimum(operands: Iterable[Expr]) -> Expr:
    """The smallest of the operands, of which there is at least one."""
    return -maximum([-e for e in operands])


def absolute(e: Expr) -> Expr:
    """The absolute value of `e`."""
    return maximum((e, -e))


def _flattened(operands: list[Expr]) -> list[Expr]:
    """The operands, with `rest + max(0, e...)` as `rest, rest + e, ...`."""
    out: list[Expr] = []
    for operand in operands:
        inner = [a for a, k in terms(operand).items() if k == 1 and a.op is MAXIMUM]
        if len(inner) == 1 and len(out) + len(inner[0].args) < FLATTEN_LIMIT:
            atom = inner[0]
            rest = from_terms(
                operand.pool, {a: k for a, k in terms(operand).items() if a is not atom}, operand.c
            )
            out.append(rest)
            out.extend(rest + e for e in atom.args)  # type: ignore[operator]
        else:
            out.append(operand)
    return out
