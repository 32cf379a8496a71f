"""The error for a branch on data speaks of the user's variables; its fixes can be pasted."""

from __future__ import annotations

import pytest

from anyshape import ShapeEnv, check
from anyshape.errors import DataDependentError


def test_a_variable_of_the_user_names_the_value() -> None:
    env = ShapeEnv()
    hits = env.unbacked()
    twice = 2 * hits
    shifted = hits + 1
    with pytest.raises(DataDependentError) as e:
        bool(hits > 3)
    assert "cannot decide 4 <= hits while tracing" in str(e.value)
    assert "torch._check(4 <= hits) or torch._check(hits <= 3)" in str(e.value)
    assert "guard_or_false(4 <= hits)" in str(e.value)
    assert repr(hits) == "u0"
    del twice, shifted


def test_the_fix_works() -> None:
    env = ShapeEnv()
    hits = env.unbacked()
    check(hits >= 4)
    assert hits > 3


def test_a_source_comes_before_a_variable() -> None:
    hits = ShapeEnv().unbacked(source="mask.sum()")
    with pytest.raises(DataDependentError, match=r"4 <= mask\.sum\(\)"):
        bool(hits > 3)


def test_a_value_without_a_name() -> None:
    env = ShapeEnv()
    with pytest.raises(DataDependentError, match="give the value a name"):
        bool(env.unbacked() > 3)


def test_another_environment_does_not_lend_its_names() -> None:
    other = ShapeEnv().unbacked()
    env = ShapeEnv()
    numbers = [env.unbacked()]
    with pytest.raises(DataDependentError, match="decide 4 <= u0"):
        bool(numbers[0] > 3)
    del other


def test_a_conversion() -> None:
    n = ShapeEnv().unbacked()
    with pytest.raises(DataDependentError, match=r"torch\._check\(n == <value>\)"):
        int(n)
