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
