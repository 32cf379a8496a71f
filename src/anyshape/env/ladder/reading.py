"""Rungs that read the answer off what is stored: bounds, directions, congruences.

Each takes the question and the relation `e op 0`, and returns its truth or None. None of them
spends budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.domain import INF, NINF
from anyshape.env.knowledge.clause import clauses_about
from anyshape.env.knowledge.direction import direction_of
from anyshape.env.knowledge.polynomial import least_value, may_vanish, signs_of_squares
from anyshape.env.knowledge.residue import residue_of
from anyshape.env.knowledge.spine import between
from anyshape.env.ladder.implication import implies
from anyshape.expr.boolean import EQ, GE, NE, negate
from anyshape.expr.node import tighten
from anyshape.expr.terms import is_fresh, refresh, terms

if TYPE_CHECKING:
    from anyshape.domain import Bound
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.env.ladder.question import Question
    from anyshape.expr import Bool, Expr
    from anyshape.expr.table.row import Op


def sign_in(lo: Bound, hi: Bound, op: Op) -> bool | None:
    """Whether every value in [lo, hi] has the relation `op` with zero, or none has it."""
    if op is GE:
        return True if lo >= 0 else False if hi < 0 else None
    if lo > 0 or hi < 0:
        return op is NE
    return (op is EQ) if lo == hi else None


def by_range(q: Question, e: Expr, op: Op) -> bool | None:
    """The bounds of `e` as they are on its node."""
    lo, hi = e.lo, e.hi
    answer = sign_in(lo, hi, op)
    if answer is not None:
        q.why = ("range", e, lo, hi)
    return answer


def excludes_zero(k: Knowledge, e: Expr) -> bool:
    """Whether zero is an excluded value of `e`."""
    if e.is_const:
        return e.c != 0
    if e.width == 1:
        ((atom, m),) = terms(e).items()
        return e.c % m == 0 and -e.c // m in k.holes.get(atom, ())
    if not k.direction_holes:
        return False
    key, factor = direction_of(e)
    return e.c % factor == 0 and -e.c // factor in k.direction_holes.get(key, ())


def by_direction(q: Question, e: Expr, op: Op) -> bool | None:
    """What is known of the direction of `e`, found by its key, and its excluded values."""
    k = q.knowledge
    if op is not GE and (k.holes or k.direction_holes) and excludes_zero(k, e):
        q.why = ("hole", e)
        return op is NE
    if not k.directions:
        return None
    key, factor = direction_of(e)
    known = k.directions.get(key)
    if known is None:
        return None
    lo, hi = (known.lo, known.hi) if factor > 0 else (known.hi, known.lo)
    answer = sign_in(factor * lo + e.c, factor * hi + e.c, op)
    if answer is not None:
        q.why = ("known", known.low_fact or known.high_fact)
    return answer


def by_reading(q: Question, e: Expr, op: Op, *, seen: bool = False) -> bool | None:
    """Up-to-date bounds, then the direction; `seen`: the bounds on the node do not decide."""
    if e.version < e.pool.ranges and not is_fresh(e):
        refresh(e)
        seen = False
    answer = None if seen else by_range(q, e, op)
    return by_direction(q, e, op) if answer is None else answer


def by_congruence(q: Question, e: Expr, op: Op) -> bool | None:
    """`e` is not 0 where its remainders modulo a constant exclude that, or no power can be."""
    if op is GE:
        return None
    if not residue_of(q.knowledge, e).contains(0):
        q.why = ("congruence", e)
    elif not may_vanish(e):
        q.why = ("power", e)
    else:
        return None
    return op is NE


def by_squares(q: Question, e: Expr, op: Op) -> bool | None:
    """The bounds of a polynomial of degree 2, by completing squares."""
    has_square, has_negative = signs_of_squares(e)
    if not has_square and not has_negative:
        return None
    lo = least_value(e) if has_square else NINF
    hi = -least_value(-e) if has_negative else INF
    answer = sign_in(lo, hi, op)
    if answer is not None:
        q.why = ("range", e, lo, hi)
    return answer


def by_clause(q: Question, b: Bool) -> bool | None:
    """Whether a known clause implies `b`, or denies it, by its form."""
    k = q.knowledge
    if not k.clauses:
        return None
    opposite = negate(b)
    for parts in clauses_about(k, b):
        for condition, answer in ((b, True), (opposite, False)):
            if all(implies(part, condition) for part in parts):
                q.why = ("known", next(iter(parts.values())))
                return answer
    return None


def by_spine(q: Question, e: Expr, op: Op) -> bool | None:
    """A pending `a - b` where one is a prefix of the other's chain of additions."""
    links = q.knowledge.links
    difference = e if e.right is not None or e.left is None else e.left
    a, b = difference.left, difference.right
    if a is None or b is None or difference.times != -1:
        return None
    span = between(links, a, b)
    if span is None:
        span = between(links, b, a)
        if span is None:
            return None
        span = (-span[1], -span[0])
    c = e.c - a.c + b.c
    tighten(e, span[0] + c, span[1] + c)
    return by_range(q, e, op)
