"""Choice between two integers by a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr import boolean
from anyshape.expr.atom import intern_atom
from anyshape.expr.constructor.division import divide_exactly
from anyshape.expr.order import is_negative
from anyshape.expr.table.op import CHOICE
from anyshape.expr.table.row import builds
from anyshape.expr.terms import content, terms

if TYPE_CHECKING:
    from anyshape.expr.boolean import Bool
    from anyshape.expr.node import Expr


def choose(condition: Bool, then: Expr, otherwise: Expr) -> Expr:
    """`then` where the condition holds, else `otherwise`.

    The atom is choice(c, e) = e if c else 0, with content and sign of e taken out, and the
    condition in the polarity made first: choose(not c, e, 0) = e - choose(c, e, 0).
    """
    pool = condition.pool
    if condition.op in (boolean.TRUE, boolean.FALSE):
        return then if condition.op == boolean.TRUE else otherwise
    difference = then - otherwise
    if difference.is_const and difference.c == 0:
        return then
    opposite = boolean.negate(condition)
    if opposite.index < condition.index:
        return choose(opposite, otherwise, then)
    g = content((*terms(difference).values(), difference.c))
    if is_negative(difference):
        g = -g
    atom = intern_atom(pool, CHOICE, (condition, divide_exactly(difference, g)))
    return otherwise + atom.node.scale(g)


@builds(CHOICE)
def _choice(condition: Bool, e: Expr) -> Expr:
    return choose(condition, e, e.pool.zero)
