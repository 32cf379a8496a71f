from __future__ import annotations

import random

import pytest

from anyshape.env import Env
from anyshape.env.scope import Scope
from anyshape.errors import AnyshapeError
from anyshape.expr import eq0, ge0
from anyshape.expr.constructor.division import floordiv
from anyshape.symbolic.sym_int import SymInt


def test_facts_end_with_their_scope():
    env = Env()
    u, v = env.unbacked(), env.unbacked(size=True)
    env.assume(ge0(u.shift(-2)))
    with Scope(env) as scope:
        env.assume(ge0(u.shift(-5)))
        env.assume(eq0(v - u))
        env.learn(ge0((-u).shift(9)))
        assert env.decide(ge0(v.shift(-5))) is True
        assert env.range_of(u) == (5, 9)
    assert [str(env.text(fact.condition)) for fact in scope.facts] == ["5 <= u0", "u0 == u1"]
    assert env.decide(ge0(v.shift(-5))) is None
    assert env.decide(eq0(v - u)) is None
    assert env.range_of(u)[0] == 2
    assert [str(o) for o in env.runtime_asserts] == ["2 <= u0"]
    assert env.replacements == {}


def test_guards_outlive_a_scope():
    env = Env()
    s = env.backed(8)
    with Scope(env):
        assert env.guard(ge0(s.shift(-5)))
    assert env.decide(ge0(s.shift(-4))) is True
    assert [str(o) for o in env.guards] == ["5 <= s0"]


def test_what_is_made_in_a_scope_starts_afresh():
    env = Env()
    u = env.unbacked(size=True)
    env.assume(ge0((-u).shift(100)))
    with Scope(env):
        w = env.unbacked(size=True)
        env.assume(ge0(u.shift(-40)))
        env.assume(ge0(w.shift(-7)))
        half = floordiv(u, env.pool.const(2))
        total = half + w
        real = SymInt(half, env) / 2
        assert real > 9.5
        assert env.range_of(half) == (20, 50)
    assert env.range_of(half) == (0, 50)
    assert env.range_of(w)[0] == 0
    assert env.decide(ge0(total.shift(-10))) is None
    assert (real > 9.5).known() is None


def test_relations_end_with_their_scope():
    env = Env()
    a, b, c = env.unbacked(), env.unbacked(), env.unbacked()
    env.assume(ge0(a - b))
    with Scope(env):
        env.assume(ge0(b - c))
        assert env.decide(ge0(a - c)) is True
    assert env.decide(ge0(a - c)) is None
    assert env.decide(ge0(a - b)) is True


def test_an_error_ends_a_scope():
    env = Env()
    u = env.unbacked()

    def fail():
        with Scope(env):
            env.assume(ge0(u))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert env.decide(ge0(u)) is None


def test_scopes_nest():
    env = Env()
    u = env.unbacked()
    with Scope(env) as outer:
        env.assume(ge0(u))
        with Scope(env) as inner:
            env.assume(ge0(u.shift(-1)))
        assert env.decide(ge0(u)) is True
        assert env.decide(ge0(u.shift(-1))) is None
    assert len(outer.facts) == len(inner.facts) == 1


def _told(env, symbols, facts):
    for fact in facts:
        try:
            env.assume(_question(env, symbols, fact))
        except AnyshapeError:
            return  # it contradicts the others


def _drawn(draw, count):
    return [
        ([draw.randint(-2, 2) for _ in range(4)], draw.randint(-6, 6), draw.random() < 0.2)
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(60))
def test_verdicts_are_those_without_the_scope(seed):
    draw = random.Random(seed)
    before, inside, asked = _drawn(draw, 4), _drawn(draw, 4), _drawn(draw, 40)
    verdicts = []
    for is_scoped in (False, True):
        env = Env()
        symbols = [env.unbacked(size=i < 2) for i in range(4)]
        _told(env, symbols, before)
        if is_scoped:
            with Scope(env):
                _told(env, symbols, inside)
                for question in asked:
                    env.decide(_question(env, symbols, question))
        verdicts.append([env.decide(_question(env, symbols, q)) for q in asked])
    assert verdicts[0] == verdicts[1]


def _question(env, symbols, fact):
    coefficients, constant, is_equality = fact
    e = env.pool.const(constant)
    for k, symbol in zip(coefficients, symbols, strict=True):
        e = e + symbol.scale(k)
    return eq0(e) if is_equality else ge0(e)
