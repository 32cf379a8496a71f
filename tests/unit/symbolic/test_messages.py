"""The error for a branch on data speaks of the user's variables; its fixes can be pasted."""

from __future__ import annotations

import linecache

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
    assert "cannot decide hits > 3 while tracing" in str(e.value)
    assert "it means 4 <= hits" in str(e.value)
    assert "torch._check(hits > 3) or torch._check(hits <= 3)" in str(e.value)
    assert "guard_or_false(hits > 3)" in str(e.value)
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
    with pytest.raises(
        DataDependentError, match=r"numbers\[0\] > 3 .*\n  why: it depends on the data"
    ):
        bool(numbers[0] > 3)
    del other


def test_a_conversion() -> None:
    n = ShapeEnv().unbacked()
    with pytest.raises(DataDependentError, match=r"torch\._check\(n == <value>\)"):
        int(n)


def asked(source: str) -> str:
    """The condition in the message of a program that asks about `n`, which only the run knows."""
    file = f"<{source}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    env = ShapeEnv()
    with pytest.raises(DataDependentError) as e:
        exec(compile(source, file, "exec"), {"n": env.unbacked(), "k": env.unbacked()})
    return e.value.what.removeprefix("cannot ").partition(" while tracing")[0]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("if n > 3:\n    pass\n", "decide n > 3"),
        ("if n == 9:\n    pass\nelif n:\n    pass\n", "decide n == 9"),
        ("while not n > 3:\n    pass\n", "decide n > 3"),
        ("assert 3 < n\n", "decide 3 < n"),
        ("x = 1 if n >= k else 2\n", "decide n >= k"),
        ("if bool(n > 3):\n    pass\n", "decide n > 3"),
        ("if (\n    n\n    > 3\n):\n    x = 1\nelse:\n    x = 2\n", "decide n > 3"),
        ("x = min([n, 4])\n", "decide 5 <= n"),  # asked inside of a call: what it means
        ("x = int(n)\n", "turn n into a Python int"),
        ("x = [0] * int(n + 1)\n", "turn n + 1 into a Python int"),
        (f"if n > {'1 + ' * 40} 2:\n    pass\n", "decide 43 <= n"),  # too long to show
    ],
)
def test_a_condition_is_shown_as_it_is_written(source: str, shown: str) -> None:
    assert asked(source) == shown
