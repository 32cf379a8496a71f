"""Rounding of a real to an integer; an integer is its own rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr.atom import make_atom
from anyshape.expr.node import Expr
from anyshape.expr.table.op import CEIL, FLOOR, ROUND, TRUNC
from anyshape.expr.table.row import builds

if TYPE_CHECKING:
    from anyshape.expr.real import Real
    from anyshape.expr.table.row import Op


@builds(FLOOR)
def floor(x: Real | Expr) -> Expr:
    """The largest integer not above `x`."""
    return _round(FLOOR, x)


@builds(CEIL)
def ceil(x: Real | Expr) -> Expr:
    """The smallest integer not below `x`."""
    return _round(CEIL, x)


@builds(ROUND)
def nearest(x: Real | Expr) -> Expr:
    """Python's `round(x)`."""
    return _round(ROUND, x)


@builds(TRUNC)
def trunc(x: Real | Expr) -> Expr:
    """The integer part of `x`."""
    return _round(TRUNC, x)


def _round(op: Op, x: Real | Expr) -> Expr:
    return x if isinstance(x, Expr) else make_atom(op, x)
