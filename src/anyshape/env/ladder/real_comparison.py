"""Comparisons with reals, decided by the spans of both sides; other conditions, by their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.expr.node import Expr
from anyshape.expr.real import CONST, SYMBOL, Real, Span, span_of
from anyshape.expr.real import span as rounded_span
from anyshape.expr.terms import refresh
from anyshape.expr.traverse import reals_below

if TYPE_CHECKING:
    from anyshape.env.ladder.question import Question
    from anyshape.expr import Bool


def span(r: Real | Expr) -> Span:
    """The span of a number from the present bounds of the integers in it.

    The ends of an integer are its own bounds, which are not rounded.
    """
    if type(r) is Expr:
        refresh(r)
        return Span(r.lo, r.hi, False)
    spans: dict[object, Span] = {}
    for node in reals_below(r):
        if node.op in (CONST, SYMBOL):
            spans[node] = node.span
        else:
            spans[node] = span_of(node.op, [_of_operand(a, spans) for a in node.args])
    return spans[r]


def _of_operand(operand: Real | Expr, spans: dict[object, Span]) -> Span:
    if type(operand) is not Expr:
        return spans[operand]
    refresh(operand)
    return rounded_span(operand)


def by_spans(q: Question, b: Bool) -> bool | None:
    """The truth of a comparison with a real where their spans decide it."""
    (left, right), (sign,) = b.args, b.data
    a, c = span(left), span(right)
    if a.nan or c.nan:
        return None
    if left is right:
        q.why = ("real",)
        return sign in ("==", "<=")
    if sign == "==":
        answer = False if a.hi < c.lo or c.hi < a.lo else _same(a, c)
    elif sign == "!=":
        answer = True if a.hi < c.lo or c.hi < a.lo else _not(_same(a, c))
    elif sign == "<":
        answer = True if a.hi < c.lo else False if a.lo >= c.hi else None
    else:
        answer = True if a.hi <= c.lo else False if a.lo > c.hi else None
    if answer is not None:
        q.why = ("real",)
    return answer


def by_row(q: Question, b: Bool) -> bool | None:
    """The truth of a condition where the row of its op has bounds that decide it."""
    spans = [span(operand) for operand in b.args]
    if b.op.truth is None or any(s.nan for s in spans):
        return None
    answer: bool | None = b.op.truth(*spans)
    if answer is not None:
        q.why = ("real",)
    return answer


def _same(a: Span, c: Span) -> bool | None:
    return True if a.lo == a.hi == c.lo == c.hi else None


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
