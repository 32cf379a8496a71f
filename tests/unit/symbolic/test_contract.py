"""The three-way contract: what each call answers and records, by what is known of its condition.

The rows are the calls, the columns are decided, open over backed symbols, open over unbacked ones,
and open over a backed symbol that a check made equal to an unbacked expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from anyshape import (
    AnyshapeError,
    ConstraintError,
    DataDependentError,
    RuntimeAssertError,
    ShapeEnv,
    check,
    config,
    guard_or_false,
    guard_or_true,
    hint,
    statically_known_false,
    statically_known_true,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class State(NamedTuple):
    """What an environment has recorded."""

    guards: list[str]
    asserts: list[str]


def state(env: ShapeEnv) -> State:
    return State([o.text for o in env.guards], [o.text for o in env.runtime_asserts])


def recorded(env: ShapeEnv, call: Callable[[], Any]) -> tuple[Any, list[str], list[str]]:
    """The answer, or the type of the error, and the new guards and asserts."""
    before = state(env)
    try:
        answer = call()
    except AnyshapeError as error:
        answer = type(error)
    after = state(env)
    return (
        answer,
        [g for g in after.guards if g not in before.guards],
        [a for a in after.asserts if a not in before.asserts],
    )


CALLS = {
    "bool": bool,
    "guard_or_false": guard_or_false,
    "guard_or_true": guard_or_true,
    "known_true": statically_known_true,
    "known_false": statically_known_false,
    "check": check,
    "hint": lambda c: hint(c, "fallback"),
}

DECIDED = {
    "bool": (True, False),
    "guard_or_false": (True, False),
    "guard_or_true": (True, False),
    "known_true": (True, False),
    "known_false": (False, True),
    "check": (None, ConstraintError),
    "hint": (True, False),
}


@pytest.mark.parametrize("name", CALLS)
def test_decided_conditions_record_nothing(name: str) -> None:
    env = ShapeEnv()
    n, u = env.backed(8), env.unbacked(size=True)
    for yes, no in ((n >= 2, n < 2), (u >= 0, u < 0)):
        if name == "hint" and yes is not (n >= 2):
            continue
        for condition, expected in zip((yes, no), DECIDED[name], strict=True):
            assert recorded(env, lambda c=condition: CALLS[name](c)) == (expected, [], [])


# name: (answer where the hint holds, guard), (answer where it fails, guard)
OPEN_BACKED = {
    "bool": ((True, ["5 <= n"]), (False, ["n <= 9"])),
    "guard_or_false": ((True, ["5 <= n"]), (False, ["n <= 9"])),
    "guard_or_true": ((True, ["5 <= n"]), (False, ["n <= 9"])),
    "known_true": ((False, []), (False, [])),
    "known_false": ((False, []), (False, [])),
    "check": ((None, ["5 <= n"]), (RuntimeAssertError, ["n <= 9"])),
    "hint": ((True, []), (False, [])),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("known", ["nothing", "equal to an unbacked expression"])
def test_open_conditions_on_backed_sizes(name: str, known: str) -> None:
    for (answer, guards), bound in zip(OPEN_BACKED[name], (4, 9), strict=True):
        env = ShapeEnv()
        n = env.backed(8, source="n")
        if known != "nothing":
            check(n == 2 * env.unbacked())
        assert recorded(env, lambda n=n, b=bound: CALLS[name](n > b)) == (answer, guards, [])
        again = recorded(env, lambda n=n, b=bound: CALLS[name](n > b))
        assert again[1:] == ([], [])  # the second time it is known, or recorded nothing before


OPEN_UNBACKED = {
    "bool": (DataDependentError, []),
    "guard_or_false": (False, []),
    "guard_or_true": (True, []),
    "known_true": (False, []),
    "known_false": (False, []),
    "check": (None, ["5 <= u"]),
    "hint": ("fallback", []),
}


@pytest.mark.parametrize("name", CALLS)
def test_open_conditions_on_unbacked_integers(name: str) -> None:
    env = ShapeEnv()
    u = env.unbacked(source="u")
    answer, asserts = OPEN_UNBACKED[name]
    assert recorded(env, lambda: CALLS[name](u > 4)) == (answer, [], asserts)


@pytest.mark.parametrize("name", CALLS)
def test_an_optimization_hint_decides_nothing(name: str) -> None:
    env = ShapeEnv()
    u = env.unbacked(source="u", hint=100)
    answer, asserts = OPEN_UNBACKED[name]
    assert recorded(env, lambda: CALLS[name](u > 4)) == (answer, [], asserts)


def test_int_of_each_kind() -> None:
    env = ShapeEnv()
    n, u = env.backed(8, source="n"), env.unbacked(source="u")
    assert recorded(env, lambda: int(n - n + 3)) == (3, [], [])
    assert recorded(env, lambda: int(u)) == (DataDependentError, [], [])
    assert recorded(env, lambda: int(n + 1)) == (9, ["n == 8"], [])
    assert recorded(env, lambda: int(n)) == (8, [], [])
    check(u == 3)
    assert recorded(env, lambda: int(2 * u)) == (6, [], [])


def test_int_of_a_backed_size_that_equals_an_unbacked_expression() -> None:
    env = ShapeEnv()
    n, u = env.backed(8, source="n"), env.unbacked()
    check(n == 2 * u)
    assert hint(n) == 8
    assert recorded(env, lambda: int(n)) == (8, ["n == 8"], [])
    assert env.prove(u == 4).name == "YES"


def test_int_never_returns_a_value_that_is_excluded() -> None:
    """The hint 8 contradicts what is asserted: no value may come out without a guard."""
    env = ShapeEnv()
    n, m, u = env.backed(8), env.backed(3), env.unbacked()
    check(u >= 5)
    check(2 * n >= m + 7 * u)
    assert env.prove(n >= 19).name == "YES"
    with pytest.raises(ConstraintError, match="8 while tracing"):
        int(n)


def test_float_of_each_kind() -> None:
    env = ShapeEnv()
    x, y = env.backed_float(2.5, source="x"), env.unbacked_float(source="y")
    assert recorded(env, lambda: float(x)) == (2.5, ["x == 2.5"], [])
    assert recorded(env, lambda: float(y)) == (DataDependentError, [], [])
    assert recorded(env, lambda: int(x)) == (2, ["abs(x) < inf", "trunc(x) == 2"], [])
    assert recorded(env, lambda: bool(x)) == (True, ["x != 0.0"], [])
    assert recorded(env, lambda: bool(y)) == (DataDependentError, [], [])
    assert recorded(env, lambda: bool(y > 0.0)) == (DataDependentError, [], [])
    check(y > 0.0)
    assert recorded(env, lambda: bool(y > 0.0)) == (True, [], [])


def test_float_of_not_a_number_is_guarded_by_that() -> None:
    env = ShapeEnv()
    x = env.backed_float(float("nan"), source="x")
    assert float(x) != float(x)
    assert [g.text for g in env.guards] == ["x != x"]


def test_the_answer_follows_the_facts_at_once() -> None:
    """torch's W11: an answer by fallback must not outlive the next fact."""
    env = ShapeEnv()
    u = env.unbacked()
    condition = u * u > 5
    assert guard_or_false(condition) is False
    assert statically_known_true(condition) is False
    check(condition)
    assert guard_or_false(condition) is True
    assert guard_or_true(u * u <= 5) is False
    assert statically_known_true(condition) is True
    assert bool(condition) is True


def test_the_answer_follows_a_guard_at_once() -> None:
    env = ShapeEnv()
    n = env.backed(9)
    assert statically_known_true(n != 7) is False
    assert bool(n != 7) is True
    assert statically_known_true(n != 7) is True


def test_plain_values_pass_through() -> None:
    assert guard_or_false(True) is True
    assert guard_or_true(False) is False
    assert statically_known_true(True) is True
    assert statically_known_true(False) is False
    assert statically_known_false(False) is True
    assert statically_known_false(True) is False
    assert check(True) is None
    with pytest.raises(RuntimeAssertError, match="no rows"):
        check(False, "no rows")
    with pytest.raises(RuntimeAssertError, match="does not hold"):
        check(False)
    assert hint(3) == 3
    assert hint(None, 5) is None


@pytest.mark.parametrize("level", [0, 1, 2])
def test_effort_levels(level: int) -> None:
    """0 is the full ladder, 1 replacements and ranges, 2 replacements only."""
    env = ShapeEnv()
    u, v, w = env.unbacked(size=True), env.unbacked(), env.unbacked()
    check(v == u)
    check(u * w > 7)
    by_replacement = v + 1 == u + 1
    by_range = u + 3 != 1
    by_ranges = (u + 4 != 1) & (u + 5 != 1)
    by_ladder = (u // 4) * 4 <= u
    with config.patch(aggressive_guard_free_semantics=level):
        assert guard_or_false(by_replacement) is True
        assert guard_or_true(~by_replacement) is False
        assert guard_or_false(by_range) is (level < 2)
        assert guard_or_true(u + 3 < 1) is (level == 2)
        assert guard_or_false(by_ranges) is (level < 2)
        assert guard_or_true(~by_ranges) is (level == 2)
        assert guard_or_false(by_ladder) is (level < 1)
    assert state(env).guards == []


@pytest.mark.parametrize("level", [0, 1, 2])
def test_effort_levels_do_not_touch_backed_sizes(level: int) -> None:
    env = ShapeEnv()
    n = env.backed(8, source="n")
    with config.patch(aggressive_guard_free_semantics=level):
        assert guard_or_false(n > 5) is True
    assert state(env).guards == ["6 <= n"]


def test_backed_size_oblivious_does_not_look_at_hints() -> None:
    with config.patch(backed_size_oblivious=True):
        env = ShapeEnv()
        n = env.backed(8, source="n")
        assert guard_or_false(n > 5) is False
        assert guard_or_true(n <= 5) is True
        assert guard_or_false(n >= 0) is True
        assert state(env).guards == []
        assert bool(n > 5) is True  # a branch still looks
        assert state(env).guards == ["6 <= n"]


def test_python_max_guards_and_sym_max_does_not() -> None:
    from anyshape import sym_max

    env = ShapeEnv()
    n = env.backed(8, source="n")
    assert str(sym_max(n, 5)) == "max(5, s0)"
    assert state(env).guards == ["2 <= n"]
    assert max(n, 5) is n
    assert state(env).guards == ["5 <= n"]


def test_a_condition_that_has_no_value_at_the_hints() -> None:
    env = ShapeEnv()
    n = env.backed(10**6, source="n")
    with pytest.raises(DataDependentError, match=r"2\*\*n has no value"):
        bool(2**n > 5)


def test_a_planted_silent_answer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a `bool` that follows the hint and forgets the guard."""
    monkeypatch.setattr("anyshape.env.Env._record", lambda *_: None)
    with pytest.raises(AssertionError):
        test_open_conditions_on_backed_sizes("bool", "nothing")
