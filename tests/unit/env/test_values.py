"""`value` and `real_value`: what a number is, proved, guarded or refused; and origins of facts."""

from __future__ import annotations

import math

import pytest

from anyshape.env import Env
from anyshape.env.fact import RULE
from anyshape.env.site import user_locals
from anyshape.errors import ConstraintError, DataDependentError
from anyshape.expr.boolean import ge0, ne0
from anyshape.expr.real import real_const
from anyshape.expr.table.op_function import SIGN
from anyshape.expr.table.op_real import Span
from anyshape.expr.traverse import names_of


def test_proved_guarded_refused() -> None:
    env = Env()
    s, u = env.backed(5, min=0), env.unbacked()
    assert env.value((s - s).shift(3)) == 3
    assert env.value(s) == 5
    assert [str(g) for g in env.guards] == ["s0 == 5"]
    with pytest.raises(DataDependentError):
        env.value(u)


def test_a_value_that_is_excluded() -> None:
    env = Env()
    s, u = env.backed(5, min=0), env.unbacked()
    env.assume(ge0(u - s))
    env.learn(ne0(s.shift(-5)))
    with pytest.raises(ConstraintError, match="cannot be that"):
        env.value(s)


def test_reals() -> None:
    env = Env()
    assert env.real_value(real_const(env.pool, 2.5)) == 2.5
    r = env.real(1.5)
    assert env.real_value(r) == 1.5
    assert math.isnan(env.real_value(env.real(math.nan)))
    assert len(env.guards) == 2
    with pytest.raises(DataDependentError):
        env.real_value(env.real())


def test_the_signs_of_zero_differ() -> None:
    for zero in (0.0, -0.0):
        env = Env()
        sign = math.copysign(1.0, zero)
        assert math.copysign(1.0, env.real_value(env.real(zero, source="x"))) == sign
        assert [g.text for g in env.guards] == [f"x == {zero}", f"sign_of(x) == {sign}"]


@pytest.mark.parametrize("ends", [(1.0, 2.0), (-3.0, -1.0), (-1.0, 0.0)])
def test_bounds_of_a_sign(ends: tuple[float, float]) -> None:
    low, high = [math.copysign(1.0, x) for x in ends]
    assert SIGN.bounds(Span(*ends, False)) == Span(low, high, False)
    assert SIGN.bounds(Span(*ends, True)) == Span(-1.0, 1.0, False)


def test_the_word_of_an_op() -> None:
    env = Env()
    u = env.unbacked()
    env.assume(ge0(u), None, RULE)
    (o,) = env.runtime_asserts
    assert "needed by an op" in o.describe()


def test_names() -> None:
    env = Env()
    u, r = env.unbacked(), env.real()
    assert names_of(ge0(u), r) == ["u0", "f0"]


def test_the_variables_of_the_user() -> None:
    mine = 3
    assert user_locals()["mine"] == mine
