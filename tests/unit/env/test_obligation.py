"""Guards and runtime asserts: the short lists, their text, where each comes from."""

from __future__ import annotations

import re

import pytest

from anyshape import ShapeEnv, check, config, sym_and, sym_max, sym_or
from anyshape.env import Env, Fact
from anyshape.env.obligation import minimal, natural
from anyshape.expr import ge0, ne0


def texts(env: ShapeEnv) -> tuple[list[str], list[str]]:
    return [o.text for o in env.guards], [o.text for o in env.runtime_asserts]


# facts in the order in which they are checked over u, v, w -> the listed asserts
MINIMAL = [
    ((), []),
    (("u >= 3",), ["3 <= u"]),
    (("u >= 3", "u >= 5"), ["5 <= u"]),
    (("u >= 5", "u >= 3"), ["5 <= u"]),
    (("u >= 3", "u <= 9", "u >= 4", "u <= 8"), ["4 <= u", "u <= 8"]),
    (("u >= 5", "u == 5"), ["u == 5"]),
    (("u <= 5", "u == 5"), ["u == 5"]),
    (("u == 5", "u >= 5"), ["u == 5"]),
    (("u >= 5", "u <= 9", "u == 7"), ["u == 7"]),
    (("u != 0", "u >= 0"), ["u != 0", "0 <= u"]),
    (("u != 0", "u >= 1"), ["1 <= u"]),
    (("u != 3", "u <= 9"), ["u != 3", "u <= 9"]),
    (("u != 3", "u >= 4"), ["4 <= u"]),
    (("u < v",), ["u < v"]),
    (("u <= v", "u < v"), ["u < v"]),
    (("2*u < 2*v", "u <= v + 3"), ["2*u < 2*v"]),
    (("u <= v", "u == v"), ["u == v"]),
    (("u + v >= 2", "u >= 1", "v >= 1"), ["1 <= u", "1 <= v"]),
    (("u * v >= 2", "u >= 2", "v >= 2"), ["2 <= u", "2 <= v"]),
    (("u >= 1 and v >= 2",), ["1 <= u", "2 <= v"]),
    (("u >= 1 and v >= 2", "u >= 3"), ["2 <= v", "3 <= u"]),
    (("u == 1 or v == 2",), ["u == 1 or v == 2"]),
    (("u >= 1 or v >= 2", "u >= 5"), ["5 <= u"]),
    (("max(u, 1) >= v", "v <= 1"), ["v <= 1"]),
    (("u % 4 == 0", "u % 4 == 0"), ["u % 4 == 0"]),
]


@pytest.mark.parametrize(("facts", "listed"), MINIMAL, ids="; ".join)
def test_the_list_of_asserts_is_minimal(facts: tuple[str, ...], listed: list[str]) -> None:
    env = ShapeEnv()
    u, v, w = (env.unbacked(source=name) for name in "uvw")
    names = {"u": u, "v": v, "w": w, "max": sym_max}
    for fact in facts:
        join = sym_or if " or " in fact else sym_and
        check(join([eval(part, names) for part in re.split(" or | and ", fact)]))
    assert texts(env) == ([], listed)


@pytest.mark.parametrize(("facts", "listed"), MINIMAL, ids="; ".join)
def test_facts_that_nobody_learnt_are_minimal_too(
    facts: tuple[str, ...], listed: list[str]
) -> None:
    """Nothing is known, so the list alone must drop what the others imply."""
    env = Env()
    for name in "uvw":
        env.unbacked(source=name)
    from anyshape.expr import parse

    texts = [f.replace("v", "u1").replace("u ", "u0 ").replace("u,", "u0,") for f in facts]
    told = [Fact(parse(env.pool, text), "check") for text in texts]
    assert [env.text(fact.condition) for fact in minimal(told, {})] == listed


def test_text_is_python_over_the_sources() -> None:
    env = ShapeEnv()
    n = env.backed(8, source="x.size(0)")
    m = env.backed(9, source="L['y'].size(1)")
    bool(n >= 4)
    bool(n % 4 == 0)
    bool(n < m)
    bool((n + 1) // 3 * m > 7)
    bool(sym_max(n, m) <= 100)
    guards, _ = texts(env)
    assert guards[:4] == [
        "2 <= L['y'].size(1)",
        "4 <= x.size(0)",
        "x.size(0) % 4 == 0",
        "x.size(0) < L['y'].size(1)",
    ]
    for text in guards:
        names = {"x": _Sized(8), "L": {"y": _Sized(0, 9)}, "max": max, "min": min}
        assert eval(text, names) is True


class _Sized:
    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def size(self, dim: int) -> int:
        return self.sizes[dim]


def test_each_has_the_line_and_the_message_of_the_user() -> None:
    env = ShapeEnv()
    n, u = env.backed(8, source="n"), env.unbacked(source="u")
    if n > 4:
        check(u < 10, "too many rows")
    check(u > 2, lambda: "too few rows")
    policy_free = [g for g in env.guards if g.origin == "guard"]
    assert [g.site.text for g in policy_free if g.site] == ["if n > 4:"]
    low, high = env.runtime_asserts
    assert (low.text, low.message, low.origin) == ("u <= 9", "too many rows", "check")
    assert (high.text, high.message) == ("3 <= u", "too few rows")
    assert low.site is not None
    assert low.site.text == 'check(u < 10, "too many rows")'
    assert low.site.file == __file__
    assert str(low) == "u <= 9"
    text = low.describe()
    assert text.startswith("u <= 9  # checked condition, too many rows, test_obligation.py:")
    assert repr(low) == f"<{text}>"


def test_the_tightest_keeps_its_own_line() -> None:
    env = ShapeEnv()
    u = env.unbacked()
    check(u >= 3, "first")
    check(u >= 5, "second")
    (only,) = env.runtime_asserts
    assert only.message == "second"


def test_no_sites_when_switched_off() -> None:
    with config.patch(do_not_emit_stack_traces=True):
        env = ShapeEnv()
        u = env.unbacked()
        check(u >= 3)
    (only,) = env.runtime_asserts
    assert only.site is None
    assert only.describe() == "3 <= u0  # checked condition"
    assert env.symbols["u0"].site is None


def test_asserts_are_filed_under_the_last_symbol_they_need() -> None:
    env = ShapeEnv()
    n = env.backed(8)
    u, v, w = env.unbacked(), env.unbacked(), env.unbacked()
    x = env.unbacked_float()
    check(w + u >= 3)
    check(v <= n)
    check(u >= 1)
    check(x > 1.0)
    check((x > 2.0) | (u > 4))
    bool(n > 4)
    assert [(a.text, a.symbol) for a in env.runtime_asserts] == [
        ("3 <= u0 + u2", "u2"),
        ("u1 <= s0", "u1"),
        ("1 <= u0", "u0"),
        ("1.0 < f0", "f0"),
        ("2.0 < f0 or 5 <= u0", "f0"),
    ]
    assert {g.symbol for g in env.guards} == {""}


def test_a_condition_on_backed_sizes_becomes_a_guard() -> None:
    env = ShapeEnv()
    n, u = env.backed(8, source="n"), env.unbacked(source="u")
    check(n >= 4)
    check(u == n + 1)
    check(u >= 7)  # n + 1 >= 7: nothing unbacked is left
    assert texts(env) == (["6 <= n"], ["n + 1 == u"])


def test_natural_ranges_are_not_listed() -> None:
    env = ShapeEnv()
    u = env.unbacked(size=True)
    i = env.unbacked()
    check(u >= 0)
    check(i + u >= i)
    assert texts(env) == ([], [])
    assert minimal([Fact(ge0(u.expr), "check")], natural([u.expr])) == []


def test_long_sums_are_listed_as_they_are() -> None:
    env = ShapeEnv()
    sizes = [env.unbacked(size=True) for _ in range(100)]
    total = sum(sizes[1:], sizes[0])
    check(total <= 10)
    check(total <= 20)
    check(total >= -5)
    assert len(env.runtime_asserts) == 1


def test_conditions_on_floats_and_choices_are_kept() -> None:
    env = ShapeEnv()
    from anyshape import sym_ite

    u, v, x = env.unbacked(), env.unbacked(), env.unbacked_float()
    check(x < 2.0)
    check(~(x < 1.0))
    check(sym_ite(u > 0, v, 3) >= 1)
    check((u / 2) > 0.25)
    check(sym_or(u < 9, x > 1.5))
    listed = texts(env)[1]
    assert len(listed) == 5
    assert listed[:2] == ["f0 < 2.0", "not (f0 < 1.0)"]
    assert listed[3] == "0.25 < u0 / 2"
    assert set(listed[4].split(" or ")) == {"u0 <= 8", "1.5 < f0"}


def test_a_disjunction_that_a_range_implies_is_dropped() -> None:
    env = Env()
    u, v = env.unbacked(), env.unbacked()
    from anyshape.expr import conj, disj

    both = conj(env.pool, [ge0(u), ge0(v)])
    clause, low, high = disj(env.pool, [both, ne0(v.shift(-7))]), ge0(u), ge0(v)
    facts = [Fact(condition, "check") for condition in (clause, low, high)]
    assert minimal(facts[:1], {}) == facts[:1]
    assert minimal(facts[:2], {}) == facts[:2]
    assert minimal(facts, {}) == facts[1:]


def test_a_planted_dropper_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a list that believes everything to be implied is too short."""
    monkeypatch.setattr("anyshape.env.obligation._implied", lambda *_: True)
    with pytest.raises(AssertionError):
        test_the_list_of_asserts_is_minimal(("u >= 3",), ["3 <= u"])
