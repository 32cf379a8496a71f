"""A fact that cannot hold: one error with both sides, and nothing has changed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from anyshape import ConstraintError, ShapeEnv, UnsupportedError, check, sym_and, sym_or
from anyshape.env.fact import Fact
from anyshape.env.learning.learn import learn
from anyshape.expr import parse
from tests.unit.env.story import Story

if TYPE_CHECKING:
    from anyshape.env import Env

PROBES = (
    "u0 >= 0", "u0 >= 3", "u0 <= 5", "u0 == u1", "u0 < u1", "u1 <= u2", "u0 + u1 >= 4",
    "u0*u1 >= 6",
    "u0 % 2 == 0", "u0 % 4 == 2", "u0//2 <= 3", "max(u0, u1) <= 9", "u2 == 1 or u3 == 1", "u3 != 0",
    "u2 == 1", "u4 == 2*u5", "s0 >= 4", "s0 == s1", "floor(u0/3) >= 1", "u0 - u0 == 0",
)  # fmt: skip
SIMPLE = ("u0", "u1 + u2", "u0*u1", "u0//2", "max(u0, u1)", "4*(u0//4)", "u4 + u5", "s0 + u3")


def snapshot(env: Env) -> dict[str, Any]:
    """Everything that can be asked of an environment; asking twice changes nothing."""
    pool = env.pool
    return {
        "ranges": {n: env.range_of(s.expr) for n, s in env.symbols.items()},
        "verdicts": {p: env.prove(parse(pool, p)).answer for p in PROBES},
        "reasons": {p: env.prove(parse(pool, p)).reason for p in PROBES},
        "simple": {t: env.text(env.simplify(parse(pool, t))) for t in SIMPLE},
        "guards": [o.describe() for o in env.guards],
        "asserts": [o.describe() for o in env.runtime_asserts],
        "replacements": {n: str(e) for n, e in env.replacements.items()},
        "hints": {n: env.hint_of(s.expr) for n, s in env.symbols.items()},
        "clauses": {str(c) for c in env.knowledge.clauses},
        "holes": {str(a.node): set(h) for a, h in env.knowledge.holes.items()},
        "direction_holes": [set(h) for h in env.knowledge.direction_holes.values()],
        "residues": set(env.knowledge.residues.values()),
        "journal": env.knowledge.journal,
    }


# what is known, and a fact that contradicts it
IMPOSSIBLE = [
    ("u0 >= 5", "u0 <= 3"),
    ("u0 >= 5", "u0 == 4"),
    ("u0 >= 5", "2*u0 <= 9"),
    ("u0 == 5", "u0 != 5"),
    ("u0 >= 0; u0 <= 1; u0 != 0", "u0 != 1"),
    ("u0 < u1", "u1 <= u0"),
    ("u0 >= 3; u1 >= 3", "u0 + u1 <= 5"),
    ("2*u0 == 3*u1 + 1", "2*u0 != 3*u1 + 1"),
    ("u1 % 2 == 1", "2*u0 + 3*u1 == 4"),
    ("u0*u1 == 7; u0 <= 6", "u0 >= 4"),
    ("u0 < u1", "u0 == u1"),
    ("u0 == u1", "u0 != u1"),
    ("u0 <= u1; u1 <= u2", "u2 < u0"),
    ("u0 == u1; u1 == u2", "u0 == u2 + 1"),
    ("u0 % 2 == 0", "u0 % 2 == 1"),
    ("u0 % 4 == 1", "u0 % 2 == 0"),
    ("u0 % 4 == 0; u0 >= 1", "u0 <= 3"),
    ("u0 >= 0", "2*u0 == 3"),
    ("u0 >= 0", "4*u0 + 2*u1 == 7"),
    ("u0 >= 0", "u0 % 3 == 5"),
    ("u0 >= 0", "u0 % 3 == -1"),
    ("u0 >= 1; u1 >= 1", "u0*u1 <= 0"),
    ("u0 >= 4; u1 >= 4", "u0*u1 == 7"),
    ("u0 >= 0", "u0*u0 == -1"),
    ("u0 >= 3", "u0//2 == 0"),
    ("u0 >= 3", "max(u0, u1) <= 2"),
    ("u0 == 1 or u0 == 2", "u0 >= 3"),
    ("u0 == 1 or u1 == 1; u0 != 1", "u1 != 1"),
    ("u2 >= 3; u3 >= 3", "u2 == 1 or u3 == 1"),
    ("u0 == 2*u1; u1 == 3", "u0 == 5"),
    ("u4 == 2*u5", "u4 == 2*u5 + 1"),
    ("u0 + u1 == 10; u0 >= 6", "u1 >= 5"),
    ("u0 >= 0", "u0 >= 1 and u0 <= 0"),
    ("s0 == s1 or u0 >= 1; u0 <= 0", "s0 != s1"),
    ("u0 >= 0; u0 <= 100", "floor(u0/3) >= 40"),
    ("u0 != u1; u0 <= u1", "u1 <= u0"),
    ("u0 <= u1; u0 >= u1", "u0 != u1"),
    ("u0*u1 == 6; u0 >= 1; u1 >= 4", "u0 >= 2"),
]


@pytest.mark.parametrize(("facts", "impossible"), IMPOSSIBLE)
def test_nothing_changes(facts: str, impossible: str) -> None:
    story = Story()
    for fact in facts.split(";"):
        learn(story.env.knowledge, Fact(story.condition(fact), "check"))
    before = snapshot(story.env)
    for _ in range(2):
        with pytest.raises(ConstraintError) as caught:
            story.tell(impossible)
        assert caught.value.what.startswith("this cannot hold: ")
        assert caught.value.why
        assert snapshot(story.env) == before
    # and the environment goes on learning
    story.env.assume(story.condition("u3 >= 7"))
    assert story.ask("u3 >= 6") is True
    assert story.ask("u3 >= 8") is None


@pytest.mark.parametrize(("facts", "impossible"), IMPOSSIBLE)
def test_a_fact_that_fails_in_the_middle_is_undone(facts: str, impossible: str) -> None:
    """Parts that were already learnt, and what followed from them, are taken back."""
    story = Story()
    for fact in facts.split(";"):
        learn(story.env.knowledge, Fact(story.condition(fact), "check"))
    before = snapshot(story.env)
    parts = f"u5 == u3 + 4 and u3 >= 50 and u4 % 6 == 4 and (u3 == 60 or u4 == 7) and {impossible}"
    with pytest.raises(ConstraintError):
        story.tell(parts)
    assert snapshot(story.env) == before


def test_both_sides_are_shown_with_both_lines() -> None:
    env = ShapeEnv()
    u = env.unbacked(source="mask.sum()")
    check(u >= 5)
    with pytest.raises(ConstraintError) as caught:
        check(u <= 3, "at most three")
    error = caught.value
    assert isinstance(error, ValueError)
    assert isinstance(error, RuntimeError)
    assert error.what.startswith("at most three: this cannot hold: mask.sum() <= 3 (checked")
    assert 'check(u <= 3, "at most three")' in error.what
    assert "known before: 5 <= mask.sum() (checked condition at test_contradictions.py" in error.why
    assert "check(u >= 5)" in error.why
    assert error.text == f"{error.what}\n  why: {error.why}"


@pytest.mark.parametrize(("facts", "impossible"), IMPOSSIBLE)
def test_the_other_side_is_one_of_the_facts(facts: str, impossible: str) -> None:
    story = Story().tell(*facts.split(";"))
    with pytest.raises(ConstraintError) as caught:
        story.tell(impossible)
    why = caught.value.why
    if "known before:" in why:
        known = {story.env.text(story.condition(f)) for f in facts.split(";")} | {"2 <= s0"}
        named = why.partition("known before: ")[2].partition(" (")[0]
        assert named in known


def test_blame_goes_to_the_end_that_is_in_the_way() -> None:
    env = ShapeEnv()
    u = env.unbacked()
    check(u >= 5, "low")
    check(u <= 9, "high")
    for condition, other in ((u <= 3, "check(u >= 5"), (u >= 12, "check(u <= 9")):
        with pytest.raises(ConstraintError) as caught:
            check(condition)
        assert other in caught.value.why


def test_a_policy_is_named_as_one() -> None:
    env = ShapeEnv()
    n = env.backed(8, source="x.size(0)")
    with pytest.raises(ConstraintError) as caught:
        check(n == 1)
    assert "2 <= x.size(0) (assumed by policy" in caught.value.why


def test_a_contradiction_without_a_rival() -> None:
    env = ShapeEnv()
    u, v = env.unbacked(), env.unbacked()
    with pytest.raises(ConstraintError) as caught:
        check(2 * u == 2 * v + 1)
    assert "known before" not in caught.value.why


def test_spans_of_floats_are_taken_back() -> None:
    """A ratio that is spelt for the first time while a fact fails must not keep its range."""
    env = ShapeEnv()
    u, v, w = env.unbacked(), env.unbacked(), env.unbacked(min=1, max=2)
    _ = math.floor(v / 3)
    with pytest.raises(ConstraintError):
        check(sym_and(u >= 100, u <= 200, v == u, sym_or(w == 0, w == 5)))
    with pytest.raises(ConstraintError):
        check(sym_and(u >= 100, u <= 200, v == u, math.floor(v / 3) <= 10))
    assert env.prove(math.floor(u / 3) >= 33).name == "UNKNOWN"
    assert env.prove(u / 3 > 30.0).name == "UNKNOWN"


def test_a_limit_of_the_engine_changes_nothing_either() -> None:
    story = Story().tell("u0 == u1 * 1000000000000000000000000000000000000000000000000")
    before = snapshot(story.env)
    with pytest.raises(UnsupportedError):
        story.tell("u1 == u2 * 1000000000000000000000000000000")
    assert snapshot(story.env) == before


def test_an_interrupt_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().tell("u0 >= 1")
    before = snapshot(story.env)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("anyshape.env.learning.learn.mention", interrupt)
        with pytest.raises(KeyboardInterrupt):
            story.tell("u0 >= 7 and u1 == u0 + 1")
    assert snapshot(story.env) == before


def test_a_planted_half_undo_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a roll-back that forgets the journal leaves the first part behind."""
    from anyshape.env.knowledge.knowledge import Knowledge

    monkeypatch.setattr(Knowledge, "roll_back", Knowledge.commit)
    with pytest.raises(AssertionError):
        test_a_fact_that_fails_in_the_middle_is_undone("u0 >= 5", "u0 <= 3")
