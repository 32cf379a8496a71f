"""What was made and memoized while a fact was learnt, after the fact was taken back."""

from __future__ import annotations

from itertools import accumulate

import pytest

from anyshape.env import Env
from anyshape.errors import ConstraintError
from anyshape.expr import Expr, conj, eq0, ge0, parse
from anyshape.expr.terms import refresh, terms

TEXTS = (
    "u0 + 3",
    "(u0 + 3)//2",
    "floor((u0 + 1)/3)",
    "max(u0, 7) - u1",
    "floor(0.5*(u0 + u1))",
    "4",
)


def _ends(e: Expr) -> tuple[float, float]:
    refresh(e)
    return e.lo, e.hi


def _env() -> Env:
    env = Env()
    for most in (30, 9):
        env.unbacked(min=0, max=most)
    return env


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("made_before", [False, True])
def test_bounds_are_those_of_a_new_environment(text: str, made_before: bool) -> None:
    new = parse(_env().pool, text)
    assert isinstance(new, Expr)
    env = _env()
    k = env.knowledge
    u = env.symbols["u0"].expr
    if made_before:
        parse(env.pool, text)
    k.begin()
    (atom,) = terms(u)
    k.set_bounds(atom, 5, 6)
    e = parse(env.pool, text)
    assert isinstance(e, Expr)
    if not made_before:
        assert (_ends(e) == _ends(new)) is (text == "4")
    k.roll_back()
    again = parse(env.pool, text)
    assert again is e
    assert _ends(e) == _ends(new)
    for part in terms(e):
        (other,) = (a for a in terms(new) if str(a.node) == str(part.node))
        assert (part.lo, part.hi) == (other.lo, other.hi)


def test_answers_and_links_are_taken_back() -> None:
    env = _env()
    k = env.knowledge
    u, v = (s.expr for s in env.symbols.values())
    known, open_ = ge0(u.shift(5)), ge0(u.shift(-5))
    assert env.decide(known) is True
    k.begin()
    (atom,) = terms(u)
    k.set_bounds(atom, 5, 6)
    refresh(open_.expr)
    assert env.decide(open_) is True
    assert env.decide(ge0(v.shift(1))) is True
    k.roll_back()
    assert env.decide(open_) is None
    assert env.decide(known) is True
    assert not k.is_learning


def test_links_along_a_chain_are_taken_back() -> None:
    env = Env()
    k = env.knowledge
    us = [env.unbacked(size=True) for _ in range(40)]
    sums = list(accumulate(us))
    gap = ge0((sums[-1] - sums[5]).shift(-7))
    k.begin()
    (atom,) = terms(us[-1])
    k.set_bounds(atom, 7, 9)
    assert env.decide(gap) is True
    assert k.links
    k.roll_back()
    assert not k.links
    assert env.decide(gap) is None


def test_replacements_of_a_refused_fact_are_not_spelt() -> None:
    env = _env()
    u, v = (s.expr for s in env.symbols.values())
    w = env.unbacked()
    env.assume(ge0(v - u.shift(1)))
    with pytest.raises(ConstraintError):
        env.learn(conj(env.pool, [eq0(w - u), eq0(u - v)]))
    assert env.replacements == {}
    assert env.simplify(w + u) is w + u
    env.assume(eq0(w - v))
    assert env.simplify(w) is v
