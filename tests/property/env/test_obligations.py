"""The listed guards and asserts imply all recorded ones: checked by brute force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from anyshape.env import Env, Fact
from anyshape.env.obligation import minimal
from anyshape.errors import AnyshapeError, RuntimeAssertError
from anyshape.expr import negate, parse
from tests.property.env.strategies import conditions, holding

if TYPE_CHECKING:
    from anyshape.expr import Bool

VERBS = st.sampled_from(("assume", "assume", "guard"))
RUN = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def story(steps: list[tuple[str, str]]) -> tuple[Env, list[Bool]]:
    """An environment to which something was done, and all that it has to hold to."""
    env = Env()
    env.backed(4)
    for _ in range(2):
        env.unbacked()
    recorded = [parse(env.pool, "s0 >= 2")]
    for verb, text in steps:
        condition = parse(env.pool, text.replace("u2", "u1"))
        try:
            answer = getattr(env, verb)(condition)
        except RuntimeAssertError:  # the hints deny it: the opposite is a guard
            answer = False
        except AnyshapeError:
            continue
        if answer is False:
            condition = negate(condition)
        recorded.append(condition)
    return env, recorded


@RUN
@given(st.lists(st.tuples(VERBS, conditions), max_size=6))
def test_what_is_listed_says_exactly_what_was_recorded(steps: list[tuple[str, str]]) -> None:
    env, recorded = story(steps)
    listed = [o.condition for o in (*env.guards, *env.runtime_asserts)]
    assert holding(env, listed) == holding(env, [*recorded, *listed])
    assert holding(env, recorded) <= holding(env, [*listed, *recorded])


@RUN
@given(st.lists(conditions, max_size=6))
def test_the_minimal_list_says_exactly_what_all_facts_say(texts: list[str]) -> None:
    env, _ = story([])
    told = [parse(env.pool, text.replace("u2", "u1")) for text in texts]
    listed = [fact.condition for fact in minimal([Fact(b, "check") for b in told], {})]
    assert holding(env, listed) == holding(env, told)


@RUN
@given(st.lists(st.tuples(VERBS, conditions), max_size=5))
def test_nothing_is_listed_twice(steps: list[tuple[str, str]]) -> None:
    env, _ = story(steps)
    for listed in (env.guards, env.runtime_asserts):
        assert len({o.condition for o in listed}) == len(listed)
        assert all(o.condition.hint is not False for o in env.guards)


def test_a_planted_dropper_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a list without its last entry does not imply all that was recorded."""
    from anyshape.env import env as module

    whole = module.minimal
    monkeypatch.setattr(module, "minimal", lambda *args: whole(*args)[:-1])

    @settings(max_examples=200, database=None, derandomize=True, phases=[Phase.generate])
    @given(st.lists(st.tuples(VERBS, conditions), max_size=6))
    def hunt(steps: list[tuple[str, str]]) -> None:
        test_what_is_listed_says_exactly_what_was_recorded.hypothesis.inner_test(steps)

    with pytest.raises(AssertionError):
        hunt()
