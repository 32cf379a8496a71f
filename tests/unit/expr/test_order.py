"""The order and the sign of sums: laws, and the same answer for every way to the same sum."""

import random

import pytest

from anyshape.expr import Expr, Pool, symbol
from anyshape.expr.order import compare, is_negative, linear_part
from anyshape.expr.terms import terms


def made() -> tuple[Pool, list[Expr]]:
    pool = Pool()
    return pool, [symbol(pool, name) for name in "abcd"]


def drawn(rng: random.Random, symbols: list[Expr]) -> Expr:
    total = symbols[0].pool.const(rng.randint(-2, 2))
    for _ in range(rng.randint(0, 6)):
        total = total + rng.choice(symbols).scale(rng.choice((-2, -1, 1, 2)))
    return total


def sign(k: int) -> int:
    return (k > 0) - (k < 0)


@pytest.mark.parametrize("seed", range(10))
def test_laws(seed: int) -> None:
    rng = random.Random(seed)
    pool, symbols = made()
    for _ in range(40):
        x, y, z = (drawn(rng, symbols) for _ in range(3))
        order = sign(compare(x, y))
        assert order == -sign(compare(y, x)) == sign(compare(x + z, y + z))
        assert order == sign(compare(x.scale(3), y.scale(3)))
        assert (order == 0) == (linear_part(x) is linear_part(y))
        if compare(x, y) < 0 and compare(y, z) < 0:
            assert compare(x, z) < 0
        if x is not pool.zero:
            assert is_negative(x) != is_negative(-x)


@pytest.mark.parametrize("seed", range(10))
def test_the_sign_is_that_of_the_newest_atom(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        _, symbols = made()
        e = drawn(rng, symbols) - drawn(rng, symbols)
        lazy = is_negative(e)
        of_e = terms(e)
        expected = of_e[max(of_e, key=lambda atom: atom.index)] if of_e else e.c
        assert lazy == (expected < 0)
        assert is_negative(e) == lazy


def test_the_newest_atom_may_have_cancelled() -> None:
    pool, (a, b, c, d) = made()
    hidden = (a + d) - (b + d)
    assert hidden.newest == next(iter(terms(d))).index
    assert is_negative(hidden)
    assert hidden.newest == next(iter(terms(b))).index
    deeper = ((a - c) + d) + (b - d)
    assert is_negative(deeper)
    assert deeper.newest == next(iter(terms(c))).index
    above = ((d - d.shift(1)) + (c - b)) + a
    assert not is_negative(above)
    assert is_negative(pool.const(-3))
    assert is_negative((a - a).shift(-1))


def test_a_sum_that_cancelled_has_no_newest_atom() -> None:
    _, (a, b, *_) = made()
    constant = b - b.shift(1)
    assert constant.is_const
    e = (a - b) + b
    assert e is a
    e = a.scale(2) + constant
    assert not is_negative(e)
    assert is_negative(-e)
    assert e.newest == next(iter(terms(e))).index


def test_the_sign_of_a_long_sum_needs_no_terms() -> None:
    pool = Pool()
    symbols = [symbol(pool, f"u{i}") for i in range(1000)]
    total = pool.zero
    for u in symbols:
        total = total + u
    rest = (symbols[0].scale(2) - total).shift(5).scale(3)
    assert is_negative(rest)
    assert rest.terms is None
    assert linear_part(rest).c == 0
    assert linear_part(total) is total
