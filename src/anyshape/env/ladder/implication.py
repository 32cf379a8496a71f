"""Whether one condition implies another by their form alone: for clauses.

Two relations on one direction are compared as sets of its values: `e >= 0` is a half-line,
`e == 0` a point, `e != 0` all but a point. Nothing that was learnt is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.domain import INF, NINF, ceil_div, floor_div
from anyshape.env.knowledge.direction import direction_of
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS

if TYPE_CHECKING:
    from anyshape.domain import Bound
    from anyshape.expr import Bool, Expr

NESTING: Final = 4


def implies(p: Bool, q: Bool, depth: int = NESTING) -> bool:
    """Whether `q` holds wherever `p` does, as far as their form tells."""
    if p is q:
        return True
    if not depth:
        return False
    if p.op == boolean.OR:
        return all(implies(part, q, depth - 1) for part in p.args)
    if q.op == boolean.AND:
        return all(implies(p, part, depth - 1) for part in q.args)
    if p.op == boolean.AND:
        return any(implies(part, q, depth - 1) for part in p.args)
    if q.op == boolean.OR:
        return any(implies(p, part, depth - 1) for part in q.args)
    return p.op in RELATIONS and q.op in RELATIONS and _implies(p, q)


def _implies(p: Bool, q: Bool) -> bool:
    of_p, of_q = _values(p), _values(q)
    if of_p.direction is not of_q.direction:
        return False
    if of_q.hole is None:
        return of_q.lo <= of_p.lo and of_p.hi <= of_q.hi
    if of_p.hole is None:
        return not of_p.lo <= of_q.hole <= of_p.hi
    return of_p.hole == of_q.hole


class _Values(NamedTuple):
    """The values of a direction for which a relation holds: from `lo` to `hi`, without `hole`."""

    direction: Expr
    lo: Bound
    hi: Bound
    hole: int | None


def _values(b: Bool) -> _Values:
    """The values for which a relation holds.

    An equality that no integer solves has none: its ends are the wrong way round.
    """
    key, factor = direction_of(b.expr)
    c = b.expr.c
    if b.op == boolean.GE:
        if factor > 0:
            return _Values(key, ceil_div(-c, factor), INF, None)
        return _Values(key, NINF, floor_div(c, -factor), None)
    value, odd = divmod(-c, factor)
    if b.op == boolean.EQ:
        return _Values(key, INF, NINF, None) if odd else _Values(key, value, value, None)
    return _Values(key, NINF, INF, None if odd else value)
