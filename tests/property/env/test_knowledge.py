"""Laws of knowledge: sound, growing only, the same in every order, undone as a whole."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from anyshape.env import Env
from anyshape.env.ladder.question import RANGES, REPLACEMENTS
from anyshape.errors import AnyshapeError, ConstraintError, RuntimeAssertError
from anyshape.expr import Bool, Expr, evaluate, negate, parse
from tests.property.env.strategies import UNDEFINED, conditions, holding, integers

RUN = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def make() -> Env:
    """`s0` = 4 is backed; u0, u1 and u2 are unbacked and in [-3, 6]."""
    env = Env()
    env.backed(4, max=6)
    for _ in range(3):
        env.unbacked(min=-3, max=6)
    return env


def told(env: Env, facts: list[str]) -> list[Bool]:
    """The facts that the environment accepts; the opposite of one that the hints deny."""
    accepted = [parse(env.pool, "s0 >= 2 and s0 <= 6")]
    for fact in facts:
        condition = parse(env.pool, fact)
        try:
            env.assume(condition)
        except RuntimeAssertError:
            condition = negate(condition)
        except AnyshapeError:
            continue
        accepted.append(condition)
    return accepted


@RUN
@given(st.lists(conditions, max_size=4), st.lists(conditions, min_size=1, max_size=4))
def test_verdicts_are_true(facts: list[str], questions: list[str]) -> None:
    env = make()
    accepted = told(env, facts)
    live = holding(env, accepted)
    for text in questions:
        question = parse(env.pool, text)
        answer = env.prove(question).answer
        if answer is not None:
            against = f"not ({text})" if answer else text
            wrong = holding(env, [*accepted, parse(env.pool, against)])
            assert not wrong, (text, answer, env.prove(question).reason)
        for effort in (RANGES, REPLACEMENTS):
            assert env.decide(question, effort) in (answer, None)
    assert live == holding(env, accepted)


@RUN
@given(st.lists(conditions, max_size=4), integers)
def test_ranges_and_simplification_are_true(facts: list[str], text: str) -> None:
    env = make()
    accepted = told(env, facts)
    e = parse(env.pool, text)
    assert isinstance(e, Expr)
    simple, (lo, hi) = env.simplify(e), env.range_of(e)
    names = list(env.symbols)
    for point in sorted(holding(env, accepted))[::7]:
        values = dict(zip(names, point, strict=True))
        try:
            value = evaluate(e, values)
        except UNDEFINED:
            continue
        assert evaluate(simple, values) == value
        assert lo <= value <= hi


@RUN
@given(st.lists(conditions, min_size=1, max_size=5), st.lists(conditions, min_size=1, max_size=4))
def test_more_facts_never_turn_an_answer(facts: list[str], questions: list[str]) -> None:
    env = make()
    before: dict[str, bool] = {}
    for fact in facts:
        told(env, [fact])
        for question in questions:
            answer = env.prove(parse(env.pool, question)).answer
            if question in before:
                assert answer is before[question]
            elif answer is not None:
                before[question] = answer


@RUN
@given(st.lists(conditions, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_orders_do_not_contradict_each_other(facts: list[str], random: object) -> None:
    """Whatever the order, no verdict is the opposite of another one's."""
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, two = make(), make()
    if len(told(one, facts)) <= len(facts) or len(told(two, shuffled)) <= len(facts):
        return  # something was refused, and what depends on the order
    for text in ("u0 >= 1", "u0 == u1", "u1 <= u2", "s0 >= 4", "u0 % 2 == 0", "u0 + u1 >= 3"):
        answers = {e.prove(parse(e.pool, text)).answer for e in (one, two)}
        assert answers != {True, False}, text


@RUN
@given(st.lists(conditions, max_size=3), conditions)
def test_a_refused_fact_leaves_everything_as_it_was(facts: list[str], fact: str) -> None:
    env = make()
    told(env, facts)
    condition = parse(env.pool, f"({fact}) and u0 >= 100 and u1 == u0 + 1")

    def state() -> object:
        return (
            [env.range_of(s.expr) for s in env.symbols.values()],
            [o.text for o in (*env.guards, *env.runtime_asserts)],
            {n: str(e) for n, e in env.replacements.items()},
            [env.prove(parse(env.pool, t)).answer for t in ("u0 >= 1", "u0 == u1", fact)],
        )

    before = state()
    with pytest.raises(ConstraintError):
        env.assume(condition)
    assert state() == before


def test_a_planted_wrong_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: bounds that are one too tight give wrong verdicts."""
    from anyshape.env.ladder import elimination as module

    right = module._Elimination.lower_bound
    monkeypatch.setattr(module._Elimination, "lower_bound", lambda *args: right(*args) + 1)

    @settings(max_examples=400, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.lists(conditions, max_size=4), st.lists(conditions, min_size=1, max_size=4))
    def hunt(facts: list[str], questions: list[str]) -> None:
        test_verdicts_are_true.hypothesis.inner_test(facts, questions)

    with pytest.raises(AssertionError):
        hunt()
