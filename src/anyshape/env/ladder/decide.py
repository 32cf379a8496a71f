"""From a condition to YES, NO or UNKNOWN: the memo, the connectives, and the order of the rungs.

    identity      the condition is a constant by structure
    known         a fact states it word for word, or it was answered before
    relation      the ladder of `anyshape.env.ladder.question`
    connective    its parts; then, where they leave it open, its own search

Each relation below a connective is a question of its own. A YES or NO is memoized for ever, an
UNKNOWN until something is learnt; an UNKNOWN that a budget cut short is not memoized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyshape.config import config
from anyshape.env.fact import Verdict
from anyshape.env.knowledge.equality import form_bool
from anyshape.env.ladder.question import FULL, RANGES, REPLACEMENTS, Question
from anyshape.env.ladder.reading import by_range, sign_in
from anyshape.env.ladder.real_comparison import by_row, by_spans
from anyshape.env.ladder.reason import explain
from anyshape.expr import boolean
from anyshape.expr.boolean import RELATIONS
from anyshape.expr.terms import refresh

if TYPE_CHECKING:
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool

    Answer = tuple[int, bool | None, object]

CUT: Final = "cut"  # the reason of an UNKNOWN that a budget cut short
_JUNCTIONS: Final = (boolean.AND, boolean.OR)
_CONSTANTS: Final = (boolean.TRUE, boolean.FALSE)


def verdict(k: Knowledge, b: Bool) -> Verdict:
    """The answer with its reason."""
    _, answer, why = ask(k, b)
    return Verdict(answer, lambda: explain(k, b, answer, why))


def decide(k: Knowledge, b: Bool, effort: int = FULL) -> bool | None:
    """True, False, or None for unknown."""
    if effort != FULL:
        return _cheaply(Question(k, effort), b)
    return ask(k, b)[1]


def ask(k: Knowledge, b: Bool, steps: int = 0) -> Answer:
    """The answer, with its stamp and its reason: the rung that answered, and its data.

    `steps`, if any, is the budget of a relation; those in a connective have one of their own.
    """
    answer = b.answer
    if answer is not None and (answer[1] is not None or _is_valid(k, answer)):
        return answer
    op = b.op
    if op in RELATIONS:
        e = b.expr
        lo, hi = e.lo, e.hi
        truth = sign_in(lo, hi, op)
        if truth is not None:  # most questions, so without a `Question`
            if k.is_learning:
                k.journal.append((None, b, answer))
            answer = b.answer = (k.version, truth, ("range", e, lo, hi))
            return answer
        q = Question(k, FULL, steps)
        truth = q.relation(b)
        if truth is None and q.steps >= 0:
            answer = b.answer = (k.version, None, q.solver)
            return answer
        return _keep(q, b, truth)
    if op in _JUNCTIONS:
        return _junctions(k, b)
    if op in _CONSTANTS:
        answer = b.answer = (k.version, op is boolean.TRUE, ("identity",))
        return answer
    q = Question(k)
    return _keep(q, b, _LEAVES.get(op, by_row)(q, b))


def _is_answered(k: Knowledge, b: Bool) -> bool:
    known = b.answer
    return known is not None and _is_valid(k, known)


def _is_valid(k: Knowledge, known: Answer) -> bool:
    """Whether an answer is YES or NO, or an UNKNOWN of this version and of the solver in use."""
    stamp, truth, why = known
    return truth is not None or (stamp == k.version and (why is not None or config.solver is None))


def _keep(q: Question, b: Bool, truth: bool | None, *, cut: bool = False) -> Answer:
    """Memoize an answer that is complete; an UNKNOWN with the solver that was asked."""
    k = q.knowledge
    if truth is not None:
        answer: Answer = (k.version, truth, q.why)
        if k.is_learning:
            k.journal.append((None, b, b.answer))
    elif cut or q.steps < 0:
        return k.version, None, CUT
    else:
        answer = (k.version, None, q.solver)
    b.answer = answer
    return answer


def _cheaply(q: Question, b: Bool) -> bool | None:
    """The answer by facts and replacements alone, or by these and ranges."""
    told = q.knowledge.told.get(b)
    if told is not None:
        return told
    b = form_bool(q.knowledge, b)
    if b.op in _CONSTANTS:
        return b.op is boolean.TRUE
    if q.effort == RANGES and b.op in _JUNCTIONS:
        answers = {_cheaply(q, part) for part in b.args}
        deciding = b.op == boolean.OR
        return deciding if deciding in answers else None if None in answers else not deciding
    if q.effort == REPLACEMENTS or b.op not in RELATIONS:
        return None
    refresh(b.expr)
    return by_range(q, b.expr, b.op)


def _not(q: Question, b: Bool) -> bool | None:
    _, answer, q.why = ask(q.knowledge, b.args[0])
    return None if answer is None else not answer


_LEAVES: Final = {
    boolean.NOT: _not,
    boolean.REAL: by_spans,
}
"""The conditions that have a rung of their own; the row of an op answers for the others."""


# ---------------------------------------------------------------------- connectives


def _junctions(k: Knowledge, b: Bool) -> Answer:
    """Decide the connectives inside `b` and then `b`, without recursion into connectives."""
    found: dict[Bool, Answer] = {}
    stack = [b]
    while stack:
        junction = stack[-1]
        inner = [
            part
            for part in junction.args
            if part.op in _JUNCTIONS and part not in found and not _is_answered(k, part)
        ]
        if inner:
            stack.extend(inner)
        else:
            found[stack.pop()] = _junction(k, junction, found)
    return found[b]


def _junction(k: Knowledge, b: Bool, found: dict[Bool, Answer]) -> Answer:
    """The answer of a connective, given those of the connectives in it."""
    q = Question(k)
    deciding = b.op == boolean.OR
    truth: bool | None = not deciding
    cut = False
    for part in b.args:
        _, of_part, why = found[part] if part in found else ask(k, part)
        if of_part is deciding:
            q.why = ("part", part)
            return _keep(q, b, deciding)
        if of_part is None:
            truth = None
            cut = cut or why is CUT
    q.why = ("parts",)
    if truth is None:
        truth = q.search(b)
    return _keep(q, b, truth, cut=cut)
