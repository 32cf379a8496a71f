"""What travels with a question, and what it leaves behind: memoized results that are complete."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from anyshape.config import config
from anyshape.env import Env
from anyshape.env.knowledge.memo import Memo
from anyshape.env.ladder import question
from anyshape.env.ladder.question import REPLACEMENTS, Question
from anyshape.env.ladder.reduce import reduce
from anyshape.expr import conj, ge0
from anyshape.expr.table.op import MAXIMUM
from anyshape.expr.terms import terms
from tests.unit.env.story import Story

if TYPE_CHECKING:
    from anyshape.expr import Bool, Expr


def costly(env: Env) -> Bool:
    """A question that uses up its budget: each of many sizes is below each of the next rank."""
    ranks = [[env.unbacked(size=True) for _ in range(4)] for _ in range(6)]
    for low, high in itertools.pairwise(ranks):
        for x in low:
            for y in high:
                env.learn(ge0(y - x))
    return ge0(ranks[-1][0] - ranks[0][0].scale(2))


def long_sum(e: Expr, env: Env) -> Expr:
    """`e` as a pending sum of many terms that cancel."""
    others = [env.unbacked() for _ in range(40)]
    for x in others:
        e = e + x
    total = others[0]
    for x in others[1:]:
        total = total + x
    return e - total


def test_a_costly_question_takes_nothing_from_the_next() -> None:
    env = Env()
    x, y, z = (env.unbacked() for _ in range(3))
    env.learn(ge0(y - x))
    env.learn(ge0(z - y))
    before = costly(env)
    after = ge0(long_sum(z - x, env))
    assert env.decide(before) is None
    assert env.decide(after) is True


def test_an_unknown_is_memoized_unless_the_budget_cut_it_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    env = Env()
    x, y, z = (env.unbacked() for _ in range(3))
    env.learn(ge0(y - x))
    env.learn(ge0(z - y))
    open_, cut = ge0(x - y), ge0(z - x)
    assert env.decide(open_) is None
    assert open_.answer is not None
    monkeypatch.setattr(question, "BUDGET", 1)
    assert env.decide(cut) is None
    assert cut.answer is None
    assert env.decide(conj(env.pool, [cut, open_])) is None
    assert env.prove(conj(env.pool, [cut, open_])).name == "UNKNOWN"
    monkeypatch.undo()
    assert env.decide(cut) is True


def test_a_reduction_is_memoized_with_its_cost() -> None:
    story = Story().tell("u0 <= u1", "u1 <= u2")
    e = story.expression("max(u0, u2)")
    k = story.env.knowledge
    assert story.simple("max(u0, u2)") == "u2"
    ((_, _, cost),) = k.reductions.values()
    assert cost > 0
    rich, poor = Question(k), Question(k)
    poor.steps = cost - 1
    assert reduce(rich, e) is story.expression("u2")
    assert reduce(poor, e) is e
    assert (rich.steps, poor.steps) == (question.BUDGET - cost, -1)


def test_a_reduction_that_the_budget_cut_short_is_not_memoized(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story().tell("u0 <= u1", "u1 <= u2")
    monkeypatch.setattr(question, "BUDGET", 2)
    assert story.simple("max(u0, u2)") == "max(u0, u2)"
    assert not story.env.knowledge.reductions
    monkeypatch.undo()
    assert story.simple("max(u0, u2)") == "u2"


def test_an_answer_at_full_effort_is_no_fact_for_a_cheap_question() -> None:
    story = Story().tell("u0 <= u1", "u1 <= u2")
    p = story.condition("u0 <= u2")
    with config.patch(aggressive_guard_free_semantics=REPLACEMENTS):
        assert story.env.guard_or(p, False) is False
        assert story.env.decide(p) is True
        assert story.env.guard_or(p, False) is False
        assert story.env.guard_or(story.condition("u1 <= u2"), False) is True


@pytest.mark.parametrize(
    ("facts", "text", "simple"),
    [
        (("u0 >= 3",), "ite(u0 >= 2, u1, u2)", "u1"),
        (("u0 != u1",), "ite(u0 == u1, u2, u3)", "u3"),
        (("u0 == 1 or u1 == 1",), "ite(u0 == 1 or u1 == 1, u2, u3)", "u2"),
        (("u0 <= 5",), "ite(u0 == 1 or u1 == 1, u2, 0)", "ite(u0 == 1 or u1 == 1, u2, 0)"),
        (("u0 >= 1",), "ite(u0 / 2 > 0.0, u2, u3)", "u2"),
    ],
)
def test_the_condition_of_a_choice_is_asked(facts: tuple[str, ...], text: str, simple: str) -> None:
    story = Story().tell(*facts)
    assert story.simple(text) == simple


@pytest.mark.parametrize("fact", ["u0*u1 != 0", "(u0*u1) % 2 == 1", "u0*u1 <= -1"])
def test_a_divisor_is_cancelled_where_it_is_not_zero(fact: str) -> None:
    text = "(u2*u0*u1) // (u0*u1)"
    assert Story().simple(text) != "u2"
    assert Story().tell(fact).simple(text) == "u2"


def test_a_memo_forgets_what_has_a_later_stamp() -> None:
    memo: Memo[str, tuple[int, int]] = Memo()
    memo["a"] = (3, 7)
    memo["b"] = (5, 8)
    memo.forget(4)
    assert list(memo) == ["a"]


def test_an_atom_whose_reduction_is_under_way_stays_as_it_is() -> None:
    story = Story().tell("u0 <= u1")
    k = story.env.knowledge
    inner, outer = story.expression("max(u0, u1)"), story.expression("max(u0, u1)*u2")
    (atom,) = (a for a in terms(inner) if a.op is MAXIMUM)
    q = Question(k)
    q.reducing[atom] = 0
    assert reduce(q, inner) is inner
    assert reduce(q, outer) is outer
    assert not k.reductions  # each rests on what was not finished
    assert reduce(Question(k), outer) is story.expression("u1*u2")
    assert atom in k.reductions
