"""Cases that the fuzzers found, each in its shortest form."""

from __future__ import annotations

import itertools

import pytest

from anyshape.domain import LIMIT
from anyshape.env import Env, Fact
from anyshape.env.learning import learn as learning
from anyshape.env.learning.learn import learn
from anyshape.errors import ConstraintError
from anyshape.expr import eq0, floordiv, ge0, minimum, modulo, multiply, ne0
from anyshape.expr.constructor.rounding import ceil
from anyshape.expr.node import MAGNITUDE_BITS
from anyshape.expr.real import RATIO, apply
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
        patch.setattr(learning, "mention", interrupt)
        with pytest.raises(KeyboardInterrupt):
            env.assume(ge0((x + y).shift(-5)))
    assert env.prove(ge0((x + y).shift(-5))).answer is None
    env.assume(ge0(x.shift(-5)))
    assert env.range_of(x + y).lo == 5


def test_a_fact_about_an_atom_that_was_made_with_one_value() -> None:
    env = Env()
    u, s = env.unbacked(min=0, max=8), env.unbacked(min=2, max=8)
    always_zero = ceil(apply(RATIO, minimum([s, env.pool.zero]), env.pool.const(8)))
    assert (always_zero.lo, always_zero.hi) == (0, 0)
    env.assume(eq0(ceil(apply(RATIO, u, s)) - always_zero))
    learn(env.knowledge, Fact(eq0(always_zero), "check"))
    with pytest.raises(ConstraintError):
        learn(env.knowledge, Fact(eq0(always_zero.shift(-1)), "check"))


def test_a_quotient_to_a_power_is_not_bounded_like_the_quotient() -> None:
    env = Env()
    x, y = env.unbacked(min=0), env.unbacked(min=1)
    q = floordiv(x, y)
    assert env.prove(ge0(x - multiply(y, q))).answer is True
    assert env.prove(ge0(x - multiply(y, multiply(q, q)))).answer is None


def test_what_a_symbol_is_not_its_replacement_is_not() -> None:
    env = Env()
    x, y, z = env.unbacked(), env.unbacked(), env.unbacked()
    env.assume(ne0(z.shift(-3)))
    env.assume(eq0(z - x - y))
    assert env.prove(eq0((x + y).shift(-3))).answer is False
    assert env.prove(eq0((x + y).shift(3))).answer is None


@pytest.mark.parametrize("low", [-2, 0, 2])
def test_the_range_of_a_symbol_is_that_of_its_replacement(low: int) -> None:
    env = Env()
    x, y, z = env.unbacked(), env.unbacked(), env.unbacked(min=low, max=low + 4)
    env.assume(eq0(z - x - y))
    assert env.prove(ge0((x + y).shift(-low))).answer is True
    assert env.prove(ge0((-x - y).shift(low + 4))).answer is True
    assert env.prove(eq0((x + y).shift(-low))).answer is None
    assert env.prove(eq0((x + y).shift(-low - 4))).answer is None


def test_a_relation_with_a_common_factor_keeps_its_constant() -> None:
    env = Env()
    x, y = env.unbacked(min=-9, max=9), env.unbacked(min=-9, max=9)
    env.assume(ge0((x + y).scale(2).shift(5)))  # x + y >= -2
    env.assume(eq0(x.shift(-1)))
    assert env.range_of(y) == (-3, 9)


def test_the_end_of_a_difference_may_be_excluded() -> None:
    env = Env()
    x, y = env.unbacked(), env.unbacked()
    env.assume(ge0(y - x))
    env.assume(ne0(y - x))
    assert env.prove(ge0(y - x.shift(1))).answer is True
    env.assume(ge0((x - y).shift(7)))
    env.assume(ne0((x - y).shift(7)))
    assert env.prove(ge0((x - y).shift(6))).answer is True
    assert env.prove(eq0((x - y).shift(6))).answer is None


def test_a_multiple_that_is_not_a_number_excludes_one_value() -> None:
    env = Env()
    x = env.unbacked(min=0, max=20)
    env.assume(ne0(x.scale(2).shift(-4)))
    assert env.prove(eq0(x.shift(-2))).answer is False
    assert env.prove(eq0(x.shift(-8))).answer is None
    env.assume(ne0(x.scale(-3).shift(9)))
    assert env.prove(eq0(x.shift(-3))).answer is False
    assert env.prove(eq0(x.shift(-9))).answer is None


def test_a_long_chain_of_consequences_is_no_recursion() -> None:
    env = Env()
    chain = [env.unbacked(min=0) for _ in range(600)]
    for x, y in itertools.pairwise(chain):
        env.assume(eq0(x.scale(2) - y.scale(3)))
    env.assume(eq0(chain[0]))
    assert env.prove(eq0(chain[-1])).answer is True
