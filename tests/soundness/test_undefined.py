"""An expression that was only asked about may have no value: its symbols are free to make it so."""

from __future__ import annotations

from anyshape.env import Env
from anyshape.expr import Expr, eq0, floordiv, ge0, maximum, modulo, parse
from anyshape.expr.constructor.bitwise import bit_and, bit_or


def test_a_question_about_a_remainder_does_not_exclude_zero() -> None:
    env = Env()
    x, y = env.unbacked(min=2, max=4), env.unbacked(min=0, max=1)
    rest = maximum([env.pool.zero, modulo(x, y).shift(-1)])
    assert env.prove(ge0(-rest)).answer is True  # where it has a value
    env.assume(ge0(-y.scale(2).shift(-1)))
    assert env.prove(eq0(y)).answer is True


def test_an_atom_without_a_value_is_no_contradiction() -> None:
    env = Env()
    u, s = env.unbacked(min=3, max=5), env.unbacked(min=2, max=4)
    mask = bit_and(env.pool.const(2), u)
    asked = bit_or(modulo(s, mask), env.pool.const(1))
    assert env.range_of(asked) == (1, 1)
    env.assume(eq0(modulo(u, env.pool.const(3)).shift(-2)))  # u is 5, mask is 0
    assert env.prove(eq0(u.shift(-5))).answer is True


def test_a_fact_does_say_that_its_parts_have_a_value() -> None:
    env = Env()
    x, y = env.unbacked(min=0, max=9), env.unbacked(min=0, max=3)
    env.assume(ge0(floordiv(x, y).shift(-4)))
    env.assume(eq0(y.shift(-2)))
    assert env.prove(ge0(x.shift(-8))).answer is True


def test_a_fact_on_a_partial_product_bounds_its_factors() -> None:
    env = Env()
    for _ in range(3):
        env.unbacked(min=0, max=9)
    product = parse(env.pool, "u0 * (u1 // u2)")
    assert isinstance(product, Expr)
    env.assume(ge0(product.shift(-1)))
    u0 = parse(env.pool, "u0")
    assert isinstance(u0, Expr)
    assert env.prove(ge0(u0.shift(-1))).answer is True
