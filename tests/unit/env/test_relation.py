"""Relations on file: what stays, what is spelt anew, and what a long sum tells."""

from __future__ import annotations

from anyshape.env import Env
from anyshape.expr import Expr, eq0, ge0
from anyshape.expr.terms import terms
from tests.unit.env.story import Story


def _total(env: Env, n: int) -> Expr:
    total = env.pool.zero
    for _ in range(n):
        total = total + env.unbacked(size=True)
    return total


def test_a_relation_whose_new_spelling_is_long_stays_on_file() -> None:
    env = Env()
    parts = [env.unbacked(size=True) for _ in range(8)]
    a, b, c = (env.unbacked(size=True) for _ in range(3))
    env.assume(ge0(b + c - a))
    env.assume(ge0((-b).shift(10)))
    env.assume(eq0(b - sum(parts[1:7], start=parts[0])))
    assert env.prove(ge0((c - a).shift(10))).answer is True


def test_a_relation_is_on_file_in_one_spelling() -> None:
    env = Env()
    a, b, c = (env.unbacked(size=True) for _ in range(3))
    env.assume(ge0(b - a))
    env.assume(eq0(b - c))
    (atom,) = terms(a)
    spellings = [str(relation.condition) for relation in env.knowledge.linear[atom]]
    assert len(spellings) == 1
    assert env.prove(ge0(c - a)).answer is True


def test_a_multiple_of_one_symbol_beside_a_long_sum() -> None:
    env = Env()
    total = _total(env, 40).shift(3)
    u = env.unbacked()
    twice = u.scale(2)
    assert len(terms(twice)) == 1  # its terms are made
    env.assume(ge0(twice - total))
    assert env.prove(ge0(twice - total)).answer is True
    assert env.prove(ge0(u)).answer is None  # a long sum bounds a symbol alone, not its multiple


def test_the_reason_of_a_power() -> None:
    reason = "u0**2 - 2 is never 0, because no integer has such a power"
    assert Story().reason("u0*u0 != 2") == reason
