"""The public environment: making symbols, misuse of every entry, and what it shows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import anyshape
from anyshape import (
    AnyshapeError,
    ArgumentError,
    ConstraintError,
    ShapeEnv,
    SymInt,
    UnsupportedError,
    check,
    guard_or_false,
    guard_or_true,
    statically_known_false,
    statically_known_true,
    sym_and,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_or,
    sym_sum,
)
from anyshape.domain import INF, NINF, Interval

if TYPE_CHECKING:
    from collections.abc import Callable


def snapshot(env: ShapeEnv) -> tuple[Any, ...]:
    """All that a user can see of an environment."""
    return (
        {n: (s.kind, s.source, s.hint) for n, s in env.symbols.items()},
        {n: env.range_of(SymInt(s.expr, env.env)) for n, s in env.symbols.items()},
        [str(o) for o in env.guards],
        [str(o) for o in env.runtime_asserts],
        {n: str(e) for n, e in env.replacements.items()},
        repr(env),
    )


def test_symbols_and_their_names() -> None:
    env = ShapeEnv()
    n = env.backed(8, source="x.size(0)")
    u = env.unbacked(size=True, hint=5)
    assert (str(n), str(u)) == ("s0", "u0")
    assert list(env.symbols) == ["s0", "u0"]
    s, v = env.symbols.values()
    assert (s.kind, s.hint, s.source, s.label) == ("backed", 8, "x.size(0)", "x.size(0)")
    assert (v.kind, v.hint, v.optimization_hint, v.label) == ("unbacked", None, 5, "u0")
    assert s.site is not None
    assert s.site.file == __file__
    assert "env.backed(8" in s.site.text
    env.symbols.clear()
    assert list(env.symbols) == ["s0", "u0"]
    assert repr(env) == "<ShapeEnv: 2 symbols, 1 guards, 0 runtime asserts>"


def test_ranges_and_simplification() -> None:
    env = ShapeEnv()
    n, u, i = env.backed(8), env.unbacked(size=True, max=9), env.unbacked()
    assert env.range_of(n) == Interval(2, INF)
    assert env.range_of(u) == Interval(0, 9)
    assert env.range_of(i) == Interval(NINF, INF)
    assert env.range_of(5) == Interval(5, 5)
    assert env.range_of(2 * u - 1) == Interval(-1, 17)
    assert env.simplify(n - n + 4) == 4
    assert type(env.simplify(n - n + 4)) is int
    assert str(env.simplify(sym_max(n, 1))) == "s0"
    assert env.simplify(n >= 2) is True
    assert env.simplify(n < 2) is False
    assert str(env.simplify(n < 9)) == "s0 <= 8"
    assert env.simplify(7) == 7
    assert env.simplify(True) is True
    check(i == u + 1)
    assert str(env.simplify(i)) == "u0 + 1"
    assert {name: str(e) for name, e in env.replacements.items()} == {"u1": "u0 + 1"}
    check(u == 3)
    assert env.replacements["u1"].expr.c == 4
    assert env.simplify(i) == 4


def test_verdicts() -> None:
    env = ShapeEnv()
    n = env.backed(8, source="n")
    verdict = env.prove(n != 1)
    assert (verdict.name, verdict.answer) == ("YES", True)
    assert verdict.reason == "n - 1 is in [1, inf)"
    assert repr(verdict) == "Verdict(YES: n - 1 is in [1, inf))"
    assert env.prove(n <= 1).name == "NO"
    assert env.prove(n == 5).name == "UNKNOWN"
    assert env.prove(True).name == "YES"
    assert env.prove(False).name == "NO"


BAD_SYMBOLS = {
    "hint of a size is negative": lambda e: e.backed(-1),
    "hint below min": lambda e: e.backed(1, min=2),
    "hint above max": lambda e: e.backed(10, min=2, max=5),
    "hint above max without min": lambda e: e.backed(10, max=5),
    "no value in the range": lambda e: e.backed(3, min=4, max=2),
    "no value for an unbacked integer": lambda e: e.unbacked(min=4, max=2),
    "no value for an unbacked size": lambda e: e.unbacked(size=True, max=-1),
    "no value for an integer": lambda e: e.backed(3, size=False, min=4, max=3),
}


@pytest.mark.parametrize("call", BAD_SYMBOLS.values(), ids=BAD_SYMBOLS)
def test_an_impossible_symbol_leaves_nothing_behind(call: Callable[[ShapeEnv], object]) -> None:
    env = ShapeEnv()
    env.unbacked(min=0)
    before = snapshot(env)
    with pytest.raises(ConstraintError):
        call(env)
    assert snapshot(env) == before
    assert (str(env.backed(2)), str(env.unbacked())) == ("s0", "u1")  # no name is used up


def test_impossible_symbols_are_described() -> None:
    env = ShapeEnv()
    with pytest.raises(ConstraintError, match=r"the value 10 of x.size\(0\) is outside \[2, 5\]"):
        env.backed(10, source="x.size(0)", min=2, max=5)
    with pytest.raises(ConstraintError, match=r"the value -1 of s0 is outside \[0, inf\)"):
        env.backed(-1)
    with pytest.raises(ConstraintError, match=r"no value is left for u0 in \[4, 2\]"):
        env.unbacked(min=4, max=2)


WRONG_TYPES = {
    "hint text": lambda e: e.backed("8"),
    "hint float": lambda e: e.backed(8.0),
    "hint bool": lambda e: e.backed(True),
    "hint None": lambda e: e.backed(None),
    "hint symbolic": lambda e: e.backed(e.unbacked()),
    "min text": lambda e: e.backed(8, min="2"),
    "max float": lambda e: e.unbacked(max=2.0),
    "min infinite": lambda e: e.unbacked(min=-math.inf),
    "optimization hint": lambda e: e.unbacked(hint=2.5),
    "source": lambda e: e.backed(8, source=3),
    "source of unbacked": lambda e: e.unbacked(source=b"n"),
    "float hint": lambda e: e.backed_float(3),
    "float hint None": lambda e: e.backed_float(None),
    "float source": lambda e: e.unbacked_float(source=1),
    "prove int": lambda e: e.prove(1),
    "prove symbolic int": lambda e: e.prove(e.unbacked()),
    "simplify text": lambda e: e.simplify("n"),
    "simplify float": lambda e: e.simplify(2.5),
    "simplify symbolic float": lambda e: e.simplify(e.unbacked_float()),
    "range_of float": lambda e: e.range_of(1.0),
    "range_of condition": lambda e: e.range_of(e.backed(8) > 5),
    "range_of bool": lambda e: e.range_of(True),
    "range_of text": lambda e: e.range_of("n"),
    "check int": lambda e: check(1),
    "check symbolic int": lambda e: check(e.backed(8)),
    "check None": lambda e: check(None),
    "check message": lambda e: check(e.backed(8) > 5, 5),
    "check message call": lambda e: check(e.backed(8) > 5, lambda: 5),
    "guard_or_false int": lambda e: guard_or_false(1),
    "guard_or_true symbolic int": lambda e: guard_or_true(e.backed(8)),
    "statically_known_true text": lambda e: statically_known_true("n"),
    "statically_known_false None": lambda e: statically_known_false(None),
    "sym_not int": lambda e: sym_not(0),
    "sym_and int": lambda e: sym_and(e.backed(8) > 5, 1),
    "sym_or text": lambda e: sym_or("x", True),
    "sym_ite condition": lambda e: sym_ite(e.backed(8), 1, 2),
    "sym_max of nothing": lambda e: sym_max(),
    "sym_min of an empty list": lambda e: sym_min([]),
    "sym_sum of text": lambda e: sym_sum(["a"]),
    "sym_sum of text and symbols": lambda e: sym_sum(e.backed(8), "a"),
}


@pytest.mark.parametrize("call", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_a_wrong_type_is_one_clear_error(call: Callable[[ShapeEnv], object]) -> None:
    env = ShapeEnv()
    with pytest.raises(ArgumentError) as caught:
        call(env)
    assert isinstance(caught.value, TypeError)
    assert [o.text for o in env.guards if o.text != "2 <= s0"] == []
    assert env.runtime_asserts == []


UNSUPPORTED = {
    "sym_min of text": lambda e: sym_min(e.unbacked_float(), "1"),
    "sym_max of None": lambda e: sym_max(e.unbacked(), None),
    "sym_ite of floats": lambda e: sym_ite(e.unbacked() > 1, 1.0, 2.0),
    "sym_ite of text": lambda e: sym_ite(e.unbacked() > 1, "a", "b"),
    "a huge constant": lambda e: e.unbacked() + 2**300,
    "a huge coefficient": lambda e: e.unbacked() * 2**300,
    "a huge power": lambda e: e.unbacked() ** 1000,
    "a huge shift": lambda e: e.unbacked() << 5000,
}


@pytest.mark.parametrize("call", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_is_not_supported_says_so(call: Callable[[ShapeEnv], object]) -> None:
    env = ShapeEnv()
    with pytest.raises(UnsupportedError) as caught:
        call(env)
    assert isinstance(caught.value, NotImplementedError)
    assert env.guards == []
    assert env.runtime_asserts == []


@pytest.mark.parametrize(
    "other", ["a", None, [1], {}, object(), b"x"], ids=lambda x: type(x).__name__
)
def test_arithmetic_with_strange_operands(other: object) -> None:
    env = ShapeEnv()
    u, x, c = env.unbacked(), env.unbacked_float(), env.unbacked() > 3
    for ours in (u, x):
        for sign in ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">="]:
            if (type(other), sign) in ((list, "*"), (bytes, "*"), (str, "*"), (bytes, "%")):
                continue  # repetition and formatting ask for the value
            for text in (f"ours {sign} other", f"other {sign} ours"):
                with pytest.raises((TypeError, UnsupportedError)):
                    eval(text, {"ours": ours, "other": other})
    for ours in (u, x, c):
        assert (ours == other) is False
        assert (other != ours) is True
    for sign in "&|^":
        with pytest.raises(TypeError):
            eval(f"c {sign} other", {"c": c, "other": other})
    assert env.runtime_asserts == []


def test_two_environments_do_not_mix() -> None:
    one, two = ShapeEnv(), ShapeEnv()
    a, b = one.unbacked(), two.unbacked()
    x, y = one.unbacked_float(), two.unbacked_float()
    c, d = a > 1, b > 1
    mixes: list[Callable[[], object]] = [
        *(
            lambda s=s: eval(f"a {s} b", {"a": a, "b": b})
            for s in ["+", "-", "*", "//", "%", "/", "**", "<<", ">>", "&", "|", "^"]
        ),
        *(
            lambda s=s: eval(f"a {s} b", {"a": a, "b": b})
            for s in ["==", "!=", "<", "<=", ">", ">="]
        ),
        *(
            lambda s=s: eval(f"x {s} y", {"x": x, "y": y})
            for s in ["+", "-", "*", "/", "**", "==", "!=", "<", "<=", ">", ">="]
        ),
        lambda: x + b,
        lambda: a + y,
        lambda: c & d,
        lambda: c | d,
        lambda: c ^ d,
        lambda: c == d,
        lambda: c != d,
        lambda: sym_max(a, b),
        lambda: sym_min([a, b]),
        lambda: sym_sum(a, b),
        lambda: sym_and(c, d),
        lambda: sym_or(c, d),
        lambda: sym_ite(c, a, b),
        lambda: sym_ite(c, b, a),
        lambda: sym_ite(c, d, c),
        lambda: one.prove(d),
        lambda: one.simplify(b),
        lambda: one.simplify(d),
        lambda: one.range_of(b),
    ]
    for mix in mixes:
        with pytest.raises(ConstraintError, match="two environments"):
            mix()
    assert one.runtime_asserts == []
    assert two.runtime_asserts == []


def test_a_foreign_condition_is_not_answered_with_our_facts() -> None:
    one, two = ShapeEnv(), ShapeEnv()
    a, b = one.unbacked(), one.unbacked()
    x, y = two.unbacked(), two.unbacked()
    check(x >= y)
    with pytest.raises(ConstraintError):
        two.simplify(a >= b)
    assert one.prove(a >= b).name == "UNKNOWN"


def test_floats_are_made_and_compared() -> None:
    env = ShapeEnv()
    x = env.backed_float(2.5, source="lr")
    assert bool(x < 3.0) is True
    assert [g.text for g in env.guards] == ["lr < 3.0"]
    assert env.prove(x < 3.0).reason.startswith("it follows from lr < 3.0 (guard at")
    assert list(env.symbols) == []


def test_public_names_exist() -> None:
    assert set(anyshape.__all__) <= set(dir(anyshape))
    for name in anyshape.__all__:
        assert getattr(anyshape, name) is not None
    assert issubclass(ConstraintError, AnyshapeError)


def test_a_planted_leftover_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: without the check in advance a refused symbol leaves a trace."""
    monkeypatch.setattr("anyshape.env.Env._need_range", staticmethod(lambda *_, **__: None))
    with pytest.raises(AssertionError):
        test_an_impossible_symbol_leaves_nothing_behind(lambda e: e.unbacked(size=True, max=-1))
