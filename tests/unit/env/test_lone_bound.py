"""A bound on a symbol alone is learnt on a short way: it must tell what the long way tells."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env import Env
from anyshape.env.learning import learn
from anyshape.errors import ConstraintError
from anyshape.expr import eq0, ge0, ne0
from anyshape.expr.boolean import disj
from anyshape.expr.constructor.division import floordiv, modulo

if TYPE_CHECKING:
    from anyshape.expr import Bool, Expr

LOW, HIGH = -4, 6


def random_fact(env: Env, symbols: list[Expr], rng: random.Random) -> Bool:
    """A fact on one or two of the symbols; mostly a bound of one."""
    x, y = rng.sample(symbols, 2)
    c = rng.randint(LOW, HIGH)
    kind = rng.randrange(10)
    if kind == 0:
        return ne0(x.shift(c))
    if kind == 1:
        return eq0((x - y).shift(c))
    if kind == 2:
        return ge0((x - y).shift(c))
    if kind == 3:
        return eq0(modulo(x, env.pool.const(3)).shift(-rng.randrange(3)))
    if kind == 4:
        return ge0(floordiv(x, env.pool.const(2)).shift(c))
    if kind == 5:
        return disj(env.pool, [ge0(x.shift(c)), ge0(y.shift(-c))])
    return ge0(x.scale(rng.choice((-2, -1, 1, 1, 3))).shift(c))


def told(seed: int) -> list[Any]:
    """All that an environment tells after each of some facts: ranges, answers, refusals."""
    rng = random.Random(seed)
    env = Env()
    symbols = [env.unbacked() for _ in range(3)]
    found: list[Any] = []
    for _ in range(8):
        try:
            env.assume(random_fact(env, symbols, rng))
        except ConstraintError as e:
            found.append(str(e))
        for x in symbols:
            found.append(tuple(env.range_of(x)))
            found += [env.decide(ge0(x.shift(c))) for c in range(LOW, HIGH)]
            found += [env.decide(eq0(x.shift(c))) for c in range(LOW, HIGH)]
        found.append(env.decide(ge0(symbols[0] - symbols[1])))
    found.append([o.text for o in env.runtime_asserts])
    return found


def compare(monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    for seed in seeds:
        short = told(seed)
        with monkeypatch.context() as patch:
            patch.setattr(learn, "bound_alone", lambda *_: False)
            assert short == told(seed), seed


def test_the_short_way_tells_what_the_long_way_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(monkeypatch, range(60))


def test_a_short_way_that_forgets_what_else_is_known_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short_way = learn.bound_alone

    def forgetful(k: Any, fact: Any) -> bool:
        holes, k.holes = k.holes, {}
        linear, k.linear = k.linear, {}
        try:
            return short_way(k, fact)
        finally:
            k.holes, k.linear = holes, linear

    monkeypatch.setattr(learn, "bound_alone", forgetful)
    with pytest.raises(AssertionError):
        compare(monkeypatch, range(60))


def test_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Env()
    u = env.unbacked()
    monkeypatch.setattr(learn, "_learn", lambda *_: pytest.fail("the long way was taken"))
    env.assume(ge0(u))
    env.assume(ge0((-u).shift(9)))
    assert tuple(env.range_of(u)) == (0, 9)


def test_a_bound_that_leaves_one_value_makes_a_replacement() -> None:
    env = Env()
    low, high = env.unbacked(), env.unbacked()
    for u in (low, high):
        env.assume(ge0(u))
        env.assume(ge0((-u).shift(9)))
    env.assume(ge0(-low))
    env.assume(ge0(high.shift(-9)))
    assert env.simplify(low).c == 0
    assert env.simplify(high).c == 9
    assert set(env.replacements) == {"u0", "u1"}
