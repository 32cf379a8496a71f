"""The six verbs: what each one answers, what it records and what it must not."""

from __future__ import annotations

import pytest

from anyshape.domain import INF, Interval
from anyshape.env import Env
from anyshape.env.asker import Asker
from anyshape.env.ladder.question import FULL, RANGES, REPLACEMENTS
from anyshape.errors import DataDependentError, RuntimeAssertError
from anyshape.expr import Bool, Expr, evaluate, ge0, maximum, parse


class Scene:
    """s0 = 8 and s1 = 12 are backed, u0 and u1 unbacked."""

    def __init__(self) -> None:
        self.env = Env()
        self.s = self.env.backed(8, source="s")
        self.t = self.env.backed(12, source="t")
        self.u = self.env.unbacked(source="u")
        self.v = self.env.unbacked(source="v")

    def __call__(self, text: str) -> Bool:
        made = parse(self.env.pool, text)
        assert isinstance(made, Bool)
        return made

    def expr(self, text: str) -> Expr:
        made = parse(self.env.pool, text)
        assert isinstance(made, Expr)
        return made

    def state(self) -> tuple[object, ...]:
        env = self.env
        return (
            [o.text for o in env.guards],
            [o.text for o in env.runtime_asserts],
            {n: str(e) for n, e in env.replacements.items()},
            [env.range_of(e) for e in (self.s, self.t, self.u, self.v)],
            env.knowledge.version,
        )


@pytest.fixture
def scene() -> Scene:
    return Scene()


# ---------------------------------------------------------------------- simplify


SIMPLE = [
    ((), "u0 - u0 + 3", "3"),
    ((), "max(s0, 1)", "s"),
    ((), "min(s0, 1)", "1"),
    ((), "(s0*u0)//s0", "u"),
    ((), "(s0*u0 + 1)//s0", "u"),
    (("u0 == s0 + 1",), "u0*2", "2*s + 2"),
    (("u0 == 5",), "u0*u1", "5*v"),
    (("u0 >= 0", "u0 < u1"), "u0//u1", "0"),
    (("u0 % 4 == 0",), "4*(u0//4)", "u"),
    (("u0 % 4 == 3",), "8*(u0//4)", "2*u - 6"),
    (("u0 >= 1",), "ite(u0 >= 0, u1, 7)", "v"),
    (("u0 <= -1",), "ite(u0 >= 0, u1, 7)", "7"),
    (("u0 >= 1",), "ite(u0 == 0, u1, 7)", "7"),
    (("u0 >= 1",), "ite(u0 != 0, u1, 7)", "v"),
    (("u0 >= 0", "u0 <= 100"), "floor(u0/3)", "u // 3"),
    (("u0 >= 0", "u0 <= 100"), "trunc(u0/3)", "u // 3"),
    (("u0 >= -100", "u0 <= 0"), "trunc(u0/3)", "(u + 2) // 3"),
    (("u0 >= -100", "u0 <= 100"), "trunc(u0/3)", "trunc(u / 3)"),
    (("u0 >= 0", "u0 <= 100"), "ceil(u0/3)", "(u + 2) // 3"),
    (("u0 >= 0", "u0 <= 100"), "round(u0/3)", "(u + 1) // 3"),
    (("u0 >= 0", "u0 <= 100"), "round(float(u0))", "u"),
    ((), "floor(u0/3)", "floor(u / 3)"),  # beyond 2**53 a double is not exact
    (("u0 >= 0", "u0 <= 100"), "floor(u0/u1)", "floor(u / v)"),
    (("u0 >= 2", "u1 >= u0"), "max(u0, u1)", "v"),
    (("u0 >= 2", "u1 >= u0"), "max(u0, u1, s0)", "max(s, v)"),
    (("u1 != 0",), "(u0*u1)//u1", "u"),
    ((), "(u0*u1)//u1", "u*v // v"),  # v may be 0
    (("u0*u1 != 0",), "(u0*u1*s0)//(u0*u1)", "s"),
    (("u0 >= 5", "u0 <= 5"), "u0*u1", "5*v"),
]


@pytest.mark.parametrize(("facts", "text", "simple"), SIMPLE, ids=str)
def test_simplify(facts: tuple[str, ...], text: str, simple: str) -> None:
    scene = Scene()
    for fact in facts:
        scene.env.assume(scene(fact))
    before = scene.state()
    result = scene.env.simplify(scene.expr(text))
    assert scene.env.text(result) == simple
    assert scene.env.simplify(result) is result
    assert scene.state() == before
    for u in range(-6, 7):
        for v in range(-3, 4):
            values = {"s0": 4, "s1": 2, "u0": u, "u1": v}
            try:
                if all(evaluate(scene(f), values) for f in facts):
                    assert evaluate(result, values) == evaluate(scene.expr(text), values)
            except ZeroDivisionError:
                continue


def test_many_operands_of_a_maximum_are_left_alone(scene: Scene) -> None:
    operands = [scene.u] + [scene.env.unbacked() for _ in range(20)]
    e = maximum(operands)
    assert scene.env.simplify(e) is e


# ---------------------------------------------------------------------- prove


def test_prove_records_nothing(scene: Scene) -> None:
    before = scene.state()
    for text in ("s0 >= 2", "s0 == 8", "u0 == 1", "u0*u1 >= 3", "u0 == 1 or u1 == 2", "s0 < 1"):
        scene.env.prove(scene(text))
        scene.env.decide(scene(text))
    assert scene.state() == before


def test_effort(scene: Scene) -> None:
    env = scene.env
    env.assume(scene("u0 == u1"))
    for text, expected in (
        ("u0 + 1 == u1 + 1", (True, True, True)),
        ("u0 + 1 != u1 + 1", (False, False, False)),
        ("s0 + s1 >= 3", (True, True, None)),
        ("s0 + s1 >= 3 and s0 >= 1", (True, True, None)),
        ("s0 + s1 >= 3 and s0 <= 1", (False, False, None)),
        ("s0 + s1 >= 3 or u0 <= 1", (True, True, None)),
        ("s0 + s1 < 3 or s0 <= 1", (False, False, None)),
        ("u0 >= 3 or s0 <= 1", (None, None, None)),
        ("(u0//2)*2 <= u0", (True, None, None)),
        ("float(u0) > 1.0", (None, None, None)),
    ):
        fresh = Scene()
        fresh.env.assume(fresh("u0 == u1"))
        found = [fresh.env.decide(fresh(text), e) for e in (REPLACEMENTS, RANGES, FULL)]
        assert tuple(reversed(found)) == expected, text


# ---------------------------------------------------------------------- guard


def test_guard_decides_by_the_hint_and_records(scene: Scene) -> None:
    env = scene.env
    assert env.guard(scene("s0 > 4")) is True
    assert env.guard(scene("s1 <= 9")) is False
    assert [o.text for o in env.guards] == ["5 <= s", "10 <= t"]
    assert [o.origin for o in env.guards] == ["guard", "guard"]
    assert env.range_of(scene.s) == Interval(5, INF)
    assert env.runtime_asserts == []


def test_guard_of_something_known_records_nothing(scene: Scene) -> None:
    before = scene.state()
    assert scene.env.guard(scene("s0 >= 1")) is True
    assert scene.env.guard(scene("s0 < 1")) is False
    assert scene.state() == before


def test_guard_of_data_is_an_error_and_records_nothing(scene: Scene) -> None:
    before = scene.state()
    with pytest.raises(DataDependentError) as caught:
        scene.env.guard(scene("u0 + s0 > 4"))
    assert scene.state() == before
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert "cannot decide 5 <= " in error.what
    assert "test_verbs.py" in error.what
    assert "u: known only when the program runs" in error.why
    assert "made at test_verbs.py" in error.why
    assert "check(" in error.fix
    assert "guard_or_false" in error.fix


def test_guard_eliminates_what_is_known(scene: Scene) -> None:
    env = scene.env
    env.assume(scene("u0 == s0 + 1"))
    assert env.guard(scene("u0 > 4")) is True
    assert [o.text for o in env.guards] == ["2 <= t", "4 <= s"]


def test_guard_on_a_connective(scene: Scene) -> None:
    env = scene.env
    assert env.guard(scene("s0 == 8 and s1 > 4")) is True
    assert [o.text for o in env.guards] == ["s == 8", "5 <= t"]
    assert env.guard(scene("s1 == 3 or s1 == 4")) is False
    assert env.prove(scene("s1 != 4")).answer is True


# ---------------------------------------------------------------------- assume


def test_assume_is_knowledge_and_an_assert(scene: Scene) -> None:
    env = scene.env
    env.assume(scene("u0 >= 5"), "too few")
    assert env.range_of(scene.u) == Interval(5, INF)
    (only,) = env.runtime_asserts
    assert (only.text, only.message, only.origin) == ("5 <= u", "too few", "check")
    assert [o.text for o in env.guards] == ["2 <= s", "2 <= t"]


def test_assume_over_backed_symbols_is_a_guard(scene: Scene) -> None:
    env = scene.env
    env.assume(scene("s0 >= 5"))
    assert [o.text for o in env.guards] == ["2 <= t", "5 <= s"]
    assert env.runtime_asserts == []


def test_assume_what_the_hint_denies(scene: Scene) -> None:
    with pytest.raises(RuntimeAssertError) as caught:
        scene.env.assume(scene("s0 == 7"), "must be 7")
    assert caught.value.what == "must be 7"
    assert "s == 7 is false for the values seen while tracing" in caught.value.why
    assert "checked at test_verbs.py" in caught.value.why
    assert [o.text for o in scene.env.guards] == ["2 <= s", "2 <= t", "s != 7"]
    assert scene.env.runtime_asserts == []


def test_assume_what_is_known_records_nothing(scene: Scene) -> None:
    before = scene.state()
    scene.env.assume(scene("s0 >= 1"))
    scene.env.assume(scene("u0*u0 >= 0"))
    assert scene.state() == before


# ---------------------------------------------------------------------- hints


def test_hints(scene: Scene) -> None:
    env = scene.env
    w = env.unbacked(hint=5)
    assert env.hint_of(scene.expr("s0*2 + s1")) == 28
    assert env.hint_of(w + scene.s) == 13
    assert env.hint_of(scene.u) is None
    assert env.hint_of(w + scene.u) is None
    assert env.hint_for_guard(scene("s0 > 3")) is True
    assert env.hint_for_guard(scene("u0 > 3")) is None
    assert env.hint_for_guard(scene("u2 > 3")) is None
    assert env.hint_of(scene.expr("s0 // (u2 - 5)")) is None  # no value there
    env.assume(scene("u0 == s0"))
    assert env.hint_of(scene.u) == 8
    assert env.hint_for_guard(scene("u0 > 3")) is True
    real = env.real(source="x")
    from anyshape.expr.constructor.rounding import floor

    assert env.hint_of(floor(real) + w) is None
    assert env.text(real) == "x"
    env.real(2.5)


def test_a_planted_verb_that_records_is_caught(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: a `prove` that learns is seen in the state."""
    monkeypatch.setattr(Env, "decide", lambda env, p: env.hint_for_guard(p) and env.assume(p))
    with pytest.raises(AssertionError):
        test_prove_records_nothing(scene)


# ---------------------------------------------------------------------- the asker


class Optimist(Asker):
    """Takes for true what only the run can tell."""

    def settle(self, env: Env, p: Bool) -> bool | None:
        return True


def test_an_asker_settles_what_only_the_run_can_tell() -> None:
    env = Env(Optimist())
    u = env.unbacked(source="u")
    assert env.guard(ge0(u.shift(-3))) is True
    assert [(o.text, o.origin) for o in env.runtime_asserts] == [("3 <= u", "rule")]
    assert env.prove(ge0(u.shift(-3))).answer is True


def test_an_error_names_the_variable_that_holds_a_symbol() -> None:
    env = Env()
    hits = env.unbacked()
    with pytest.raises(DataDependentError, match="cannot decide 3 <= hits while tracing"):
        env.guard(ge0(hits.shift(-3)))


def test_an_error_names_no_variable_that_holds_something_else(scene: Scene) -> None:
    env = scene.env
    hits = env.unbacked()
    twice, other = hits.scale(2), Env().unbacked()
    with pytest.raises(DataDependentError, match="into a Python int") as caught:
        env.value(hits)
    assert caught.value.why.startswith("hits: known only when the program runs; hits was made at")
    assert "add torch._check(hits == <value>)" in caught.value.fix
    assert (twice.width, other.width) == (1, 1)
