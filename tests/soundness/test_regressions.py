"""Cases that the fuzzers found, each in its shortest form."""

from __future__ import annotations

import pytest

from anyshape.domain import LIMIT
from anyshape.env import Env, Fact
from anyshape.env import learn as learning
from anyshape.env.learn import learn
from anyshape.errors import ConstraintError
from anyshape.expr import eq0, ge0, modulo
from anyshape.expr.node import MAGNITUDE_BITS
from anyshape.expr.terms import terms


def test_a_sum_that_cancels_is_the_constant_also_after_its_terms_were_made() -> None:
    env = Env()
    x, y = env.unbacked(min=0, max=9), env.unbacked(min=0, max=9)
    cancelled = (x + y).shift(-3) - y - x
    assert terms(cancelled) == {}
    again = env.pool.const(-3)
    assert again is cancelled
    assert (again.lo, again.hi) == (-3, -3)
    assert env.prove(ge0(again)).answer is False


def test_a_refused_fact_does_not_loosen_the_range_of_a_remainder() -> None:
    env = Env()
    x, y = env.unbacked(min=-2, max=11), env.unbacked(min=0, max=22)
    env.assume(eq0(modulo(x, env.pool.const(2)) - y))
    assert env.range_of(y) == (0, 1)
    with pytest.raises(ConstraintError):
        env.assume(ge0(y.shift(-2)))
    with pytest.raises(ConstraintError):
        learn(env.knowledge, Fact(ge0(y.shift(-2)), "check"))
    assert env.range_of(y) == (0, 1)


def test_every_end_of_a_range_does_as_a_constant() -> None:
    assert LIMIT < 1 << (MAGNITUDE_BITS - 8)
    pool = Env().pool
    assert pool.const(LIMIT).shift(LIMIT).c == 2 * LIMIT


def test_an_interrupt_leaves_no_half_of_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    env = Env()
    x, y = env.unbacked(min=0), env.unbacked(min=0)
    with monkeypatch.context() as patch:
        patch.setattr(learning, "_mention", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.assume(ge0((x + y).shift(-5)))
    assert env.prove(ge0((x + y).shift(-5))).answer is None
    env.assume(ge0(x.shift(-5)))
    assert env.range_of(x + y).lo == 5
