"""Policies on sizes: 0/1 specialization, obliviousness, ducks; assumed ranges are guards."""

from __future__ import annotations

import pytest

from anyshape import (
    ConstraintError,
    DataDependentError,
    ShapeEnv,
    check,
    config,
    statically_known_true,
)
from anyshape.domain import INF, Interval

CASES = [
    # settings, hint -> range, guards
    ({}, 0, (0, 0), ["n == 0"]),
    ({}, 1, (1, 1), ["n == 1"]),
    ({}, 2, (2, INF), ["2 <= n"]),
    ({}, 7, (2, INF), ["2 <= n"]),
    ({"specialize_zero_one": False}, 0, (0, INF), []),
    ({"specialize_zero_one": False}, 1, (0, INF), []),
    ({"specialize_zero_one": False}, 2, (0, INF), []),
    ({"backed_size_oblivious": True}, 0, (0, INF), []),
    ({"backed_size_oblivious": True}, 1, (0, INF), []),
    ({"backed_size_oblivious": True}, 2, (0, INF), []),
]


@pytest.mark.parametrize(("settings", "hint", "ends", "guards"), CASES, ids=str)
def test_the_range_of_a_backed_size(
    settings: dict[str, bool], hint: int, ends: tuple[float, float], guards: list[str]
) -> None:
    with config.patch(**settings):
        env = ShapeEnv()
        n = env.backed(hint, source="n")
    assert env.range_of(n) == Interval(*ends)
    assert [g.text for g in env.guards] == guards
    assert {g.origin for g in env.guards} <= {"policy"}
    assert env.runtime_asserts == []


@pytest.mark.parametrize("hint", [0, 1, 2, 5])
def test_integers_that_are_no_sizes_have_no_policy(hint: int) -> None:
    env = ShapeEnv()
    n = env.backed(hint, size=False)
    assert env.range_of(n) == Interval(-INF, INF)
    assert env.guards == []
    assert str(env.backed(-3, size=False)) == "s1"


@pytest.mark.parametrize(
    ("hint", "lo", "hi", "guards"),
    [
        (1, 0, None, []),
        (1, 1, None, ["1 <= n"]),
        (1, 1, 4, ["1 <= n", "n <= 4"]),
        (3, None, 4, ["n <= 4", "2 <= n"]),
        (0, None, 4, ["n == 0"]),
        (1, None, 1, ["n == 1"]),
        (3, 3, 3, ["3 <= n", "n <= 3"]),
    ],
)
def test_a_declared_range_wins_over_the_policy(
    hint: int, lo: int | None, hi: int | None, guards: list[str]
) -> None:
    env = ShapeEnv()
    n = env.backed(hint, source="n", min=lo, max=hi)
    assert [g.text for g in env.guards] == guards
    assert env.range_of(n).contains(hint)
    if lo is not None:
        assert env.range_of(n) == Interval(lo, INF if hi is None else hi)
        assert {g.origin for g in env.guards} <= {"declared"}


def test_a_size_is_not_negative_whatever_is_declared() -> None:
    env = ShapeEnv()
    with pytest.raises(ConstraintError, match="a size is not negative"):
        env.backed(-7, min=-10)
    with pytest.raises(ConstraintError, match="no value is left"):
        env.unbacked(min=-10, max=-1, size=True)
    assert env.range_of(env.backed(-7, min=-10, size=False)) == Interval(-10, INF)
    assert env.range_of(env.backed(0, min=-10)) == Interval(0, INF)


def test_declared_ranges_of_unbacked_symbols_are_asserts() -> None:
    env = ShapeEnv()
    u = env.unbacked(source="u", min=3, max=9)
    v = env.unbacked(source="v", size=True, min=-3)
    assert env.range_of(u) == Interval(3, 9)
    assert env.range_of(v) == Interval(0, INF)
    assert [a.text for a in env.runtime_asserts] == ["3 <= u", "u <= 9"]
    assert env.guards == []


def test_no_ducks_by_default() -> None:
    env = ShapeEnv()
    n, m = env.backed(8), env.backed(8)
    assert env.prove(n == m).name == "UNKNOWN"


def test_ducks_are_guards() -> None:
    with config.patch(duck_shape=True):
        env = ShapeEnv()
        n, m, k = env.backed(8, source="n"), env.backed(8, source="m"), env.backed(9, source="k")
        i = env.backed(8, size=False)
        j = env.backed(8, min=0)
    assert env.prove(n == m).name == "YES"
    assert env.prove(n == k).name == "UNKNOWN"
    assert env.prove(n == i).name == "UNKNOWN"
    assert env.prove(n == j).name == "UNKNOWN"
    assert "n == m" in [g.text for g in env.guards]
    assert {g.origin for g in env.guards} == {"policy"}


def test_an_assumed_range_is_a_guard_and_stays_one() -> None:
    """What is concluded from `2 <= n` rests on a guard that is listed, whatever else is known."""
    env = ShapeEnv()
    n, u = env.backed(8, source="n"), env.unbacked(source="u")
    check(u == n)
    assert env.prove(u >= 2).name == "YES"
    assert [g.text for g in env.guards] == ["2 <= n"]
    assert [a.text for a in env.runtime_asserts] == ["n == u"]
    check(u >= 1)  # follows from the guard: nothing new
    assert [a.text for a in env.runtime_asserts] == ["n == u"]


def test_without_the_policy_nothing_leaks_through_an_equality() -> None:
    """torch gives `u` the range [2, inf) in this case and rejects 0 and 1."""
    with config.patch(specialize_zero_one=False):
        env = ShapeEnv()
        n, u = env.backed(8), env.unbacked()
        check(u == n)
    assert env.range_of(u) == Interval(0, INF)
    assert statically_known_true(u != 1) is False
    assert statically_known_true(u >= 2) is False


def test_a_declared_minimum_below_two_does_not_leak_either() -> None:
    env = ShapeEnv()
    n, u = env.backed(8, min=0), env.unbacked(size=True)
    check(u == n)
    assert env.range_of(u) == Interval(0, INF)
    assert [g.text for g in env.guards] == []


def test_sizes_zero_and_one_are_not_excluded_by_a_check() -> None:
    """torch never lets the upper end of a size-like symbol below 2."""
    env = ShapeEnv()
    u = env.unbacked(size=True)
    check(u <= 1)
    assert env.range_of(u) == Interval(0, 1)
    check(u == 1)
    assert int(u) == 1
    with pytest.raises(ConstraintError):
        check(u == 0)


def test_an_unbacked_integer_is_any_integer() -> None:
    env = ShapeEnv()
    u = env.unbacked()
    assert env.prove(u >= 0).name == "UNKNOWN"
    assert env.prove(u > -(2**63)).name == "UNKNOWN"
    with pytest.raises(DataDependentError):
        bool(u >= 0)


def test_a_planted_leak_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a policy that is known without being listed."""
    from anyshape.env import Env

    def silent(self: Env, *_: object) -> None:
        del self

    monkeypatch.setattr(Env, "_oblige", silent)
    with pytest.raises(AssertionError):
        test_an_assumed_range_is_a_guard_and_stays_one()
