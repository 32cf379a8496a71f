"""Which atoms may have no value, and what follows once they have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from anyshape.env.ladder.definedness import is_defined
from anyshape.expr import Expr, ge0, parse
from anyshape.expr.terms import terms
from tests.unit.env.story import Story

if TYPE_CHECKING:
    from anyshape.env import Env


def is_total(env: Env, text: str) -> bool:
    """Whether the atoms of an expression are defined."""
    e = parse(env.pool, text)
    assert isinstance(e, Expr)
    return all(is_defined(env.knowledge, atom) for atom in terms(e))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u0", True),
        ("u0 // 2", True),
        ("u0 // u1", False),
        ("u0 // s0", True),
        ("u0 // bit_and(u1, 7)", False),
        ("u0 // (bit_and(u1, 7) + 1)", True),
        ("bit_and(u0 // u1, u2)", False),
        ("u0 ** s0", True),
        ("s0 ** u0", False),
        ("max(u0 // s0, u1 * u2)", True),
        ("floor(float(u0))", False),
        ("floor(float(bit_and(u0, 7)))", True),
        ("floor(bit_and(u0, 7) / u1)", False),
        ("floor(bit_and(u0, 7) / s0)", True),
        ("ite(1 / u0 < 1 / s0, u1, 0)", False),
        ("ite(1 / s1 < 1 / s0, u1, 0)", True),
        ("ite(u0 >= 0, u1, 0)", True),
        ("floor(sin(float(bit_and(u0, 7))))", True),
        ("floor(cos(exp(float(bit_and(u0, 4095)))))", False),
        ("floor(pow(float(bit_and(u0, 7)), 2.0))", True),
        ("floor(pow(float(bit_and(u0, 7)), -1.0))", False),
        ("floor(pow(float(bit_and(u0, 7) - 3), 2.0))", False),
    ],
)
def test_an_atom_is_defined_where_python_never_raises(text: str, expected: bool) -> None:
    assert is_total(Story().env, text) is expected


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        ("u1 >= 1", "u0 // u1"),
        ("u1 <= -1", "u0 // u1"),
        ("u1 != 0", "u0 // u1"),
        ("u1 != 4", "u0 // (u1 - 4)"),
        ("u1 != u2", "u0 // (u1 - u2)"),
        ("u1 != u2", "bit_and(max(u0 // (2*u1 - 2*u2), 3), 7)"),
        ("u1 >= 1", "floor(bit_and(u0, 7) / u1)"),
        ("u1 >= 0 and u1 != 0", "u0 // u1"),
        ("u1 == u2 + 1 and u2 != -1", "u0 // u1"),
    ],
)
def test_a_fact_can_define_an_atom(fact: str, text: str) -> None:
    story = Story()
    assert not is_total(story.env, text)
    story.tell(fact)
    assert is_total(story.env, text)


@pytest.mark.parametrize("fact", ["u1 == 0", "u1 != 3", "u1 >= 0", "u1 != u2", "u1 % 2 == 0"])
def test_another_fact_does_not(fact: str) -> None:
    assert not is_total(Story().tell(fact).env, "u0 // u1")


QUOTIENT = ("u0 // {0} >= 2", "u2 >= 0", "u5 <= 5", "u5 == (u0 // {0})*u2")
DEEPER = ("max(u0 // {0} - 3, 0) >= 2", "u2 >= 0", "u5 <= 5", "u5 == max(u0 // {0} - 3, 0)*u2")


@pytest.mark.parametrize("facts", [QUOTIENT, DEEPER])
@pytest.mark.parametrize(
    ("divisor", "fact"),
    [("u1", "u1 != 0"), ("u1", "u1 >= 1"), ("(u1 - u4)", "u1 != u4"), ("(u1 - 3)", "u1 != 3")],
)
def test_ranges_propagate_back_through_what_is_defined(
    divisor: str, fact: str, facts: tuple[str, ...]
) -> None:
    told = [text.format(divisor) for text in facts]
    unknown, before, after = Story(), Story(), Story()
    unknown.tell(*told)
    before.tell(fact, *told)
    after.tell(*told, fact)
    assert unknown.env.range_of(unknown.expression("u2")).hi == float("inf")
    assert before.env.range_of(before.expression("u2")).hi == 2
    assert after.env.range_of(after.expression("u2")).hi == 2


def test_a_refused_fact_defines_nothing() -> None:
    story = Story().tell("u1 <= 5")
    assert not is_total(story.env, "u0 // u1")
    with pytest.raises(Exception, match="cannot hold"):
        story.env.assume(story.condition("u1 >= 1 and u1 <= 3 and u1 >= 4"))
    assert not is_total(story.env, "u0 // u1")
    assert story.env.decide(ge0(story.expression("u1").shift(-1))) is None
