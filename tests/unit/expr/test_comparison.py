"""Comparisons of integers and reals against Python, on both sides of 2**53, infinities and NaN."""

from __future__ import annotations

import itertools
import math

import pytest

from anyshape.env import Env
from anyshape.expr import Expr, Pool, Real, evaluate, parse, show, symbol
from anyshape.expr.boolean import REAL, RELATIONS
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.real import FLOAT, RATIO, Span, apply, real_const, real_symbol
from anyshape.expr.table.op import COMPARE
from anyshape.expr.text.python import function

BIG = 2**53
INTS = (*range(-3, 4), *(s * (BIG + d) for s in (1, -1) for d in (-1, 0, 1, 2)), 2**63, 2**100 + 1)
FLOATS = (
    *(-math.inf, -2.5, -2.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 2.5, math.inf, math.nan),
    *(float(s * (BIG + d)) for s in (1, -1) for d in (-2, -1, 0, 2)),
    *(2.0**63, 2.0**100, 1e300, -1e300),
)


@pytest.mark.parametrize("sign", COMPARE)
def test_an_integer_and_a_constant(sign: str) -> None:
    pool = Pool()
    n = symbol(pool, "n")
    for c in FLOATS:
        for flipped in (False, True):
            operands = (n, real_const(pool, c))
            b = compare(sign, *(operands[::-1] if flipped else operands))
            assert (b.op is REAL) == (1e200 < abs(c) < math.inf)
            assert parse(pool, show(b)) is b
            holds = function([b], ["n"])
            for value in INTS:
                pair = (c, value) if flipped else (value, c)
                expected = COMPARE[sign](*pair)
                assert evaluate(b, {"n": value}) is expected, (b, value)
                assert holds(value) == (expected,)


@pytest.mark.parametrize("sign", COMPARE)
def test_an_integer_and_a_real(sign: str) -> None:
    pool = Pool()
    n, x = symbol(pool, "n"), real_symbol(pool, "x", None)
    for left, right in ((n, x), (x, n)):
        b = compare(sign, left, right)
        assert b.op is REAL
        assert b.args in ((n, x), (x, n))
        assert parse(pool, show(b)) is b
        holds = function([b], ["n", "x"])
        for value, c in itertools.product(INTS, FLOATS):
            expected = COMPARE[sign](*((value, c) if left is n else (c, value)))
            assert evaluate(b, {"n": value, "x": c}) is expected
            assert holds(value, c) == (expected,)


def test_the_hint_is_exact() -> None:
    pool = Pool()
    n = symbol(pool, "n", hint=BIG + 1)
    x = real_symbol(pool, "x", float(BIG))
    assert [compare(s, n, x).hint for s in ("==", ">", "<=")] == [False, True, False]
    assert compare("==", apply(FLOAT, n), x).hint is True  # the conversion rounds


REALS = {
    "float": lambda n: apply(FLOAT, n),
    "half": lambda n: apply(RATIO, n, n.pool.const(2)),
    "product": lambda n: apply("mul", apply(FLOAT, n), real_const(n.pool, 0.1)),
    "reflected product": lambda n: apply("mul", real_const(n.pool, 0.1), apply(FLOAT, n)),
    "quotient": lambda n: apply("div", apply(FLOAT, n), real_const(n.pool, 3.0)),
    "negative product": lambda n: apply("mul", apply(FLOAT, n), real_const(n.pool, -0.5)),
    "tiny product": lambda n: apply("mul", apply(FLOAT, n), real_const(n.pool, 5e-324)),
    "tiny quotient": lambda n: apply("div", apply(FLOAT, n), real_const(n.pool, 1e308)),
    "inverse": lambda n: apply("div", real_const(n.pool, 2.0), apply(FLOAT, n)),
    "negative ratio": lambda n: apply(RATIO, n, n.pool.const(-2)),
    "root": lambda n: apply("sqrt", apply(FLOAT, n)),
}
INTEGRAL = ("float", "half", "product", "reflected product", "quotient")


@pytest.mark.parametrize("name", REALS)
@pytest.mark.parametrize("sign", COMPARE)
def test_a_real_that_follows_an_integer(name: str, sign: str) -> None:
    pool = Pool()
    n = symbol(pool, "n")
    r: Real = REALS[name](n)
    for c in FLOATS:
        b = compare(sign, r, real_const(pool, c))
        for value in INTS:
            try:
                expected = COMPARE[sign](evaluate(r, {"n": value}), c)
            except (ZeroDivisionError, ValueError):
                continue
            assert evaluate(b, {"n": value}) is expected, (b, value)
    zero = compare(sign, r, real_const(pool, 0.0))
    assert (zero.op in RELATIONS) == (name in INTEGRAL)


def test_two_integers_and_two_constants() -> None:
    pool = Pool()
    n, m = symbol(pool, "n"), symbol(pool, "m")
    for sign, meaning in COMPARE.items():
        b = compare(sign, n, m)
        assert b.op in RELATIONS
        assert all(
            evaluate(b, {"n": i, "m": j}) is meaning(i, j)
            for i, j in itertools.product(range(-2, 3), repeat=2)
        )
        for c, d in itertools.product(FLOATS, FLOATS):
            made = compare(sign, real_const(pool, c), real_const(pool, d))
            assert evaluate(made, {}) is meaning(c, d)


def test_a_constant_integer_is_the_float_that_it_is() -> None:
    pool = Pool()
    x = real_symbol(pool, "x", None)
    three: Expr = pool.const(3)
    assert compare("<", x, three) is compare("<", x, real_const(pool, 3.0))
    odd = compare("==", x, pool.const(BIG + 1))
    assert odd is not compare("==", x, real_const(pool, float(BIG)))
    assert evaluate(odd, {"x": float(BIG)}) is False


@pytest.mark.parametrize("sign", COMPARE)
def test_verdicts_are_exact(sign: str) -> None:
    """A verdict holds for all integers and floats in the spans; the ends alone decide it."""
    ends = (-1, 0, 2, BIG, BIG + 1, BIG + 2)
    spans = [(0.0, 0.0), (-1.5, 2.0), (0.5, 0.5), (float(BIG), float(BIG)), (2.5, float(BIG + 2))]
    decided = 0
    for (lo, hi), (low, high) in itertools.product(itertools.combinations(ends, 2), spans):
        env = Env()
        n = env.unbacked(min=lo, max=hi)
        x = real_symbol(env.pool, "x", None, Span(low, high, False))
        answer = env.decide(compare(sign, n, x))
        if answer is not None:
            decided += 1
            for i, c in itertools.product({lo, hi, (lo + hi) // 2}, {low, high, (low + high) / 2}):
                assert COMPARE[sign](i, c) is answer, (sign, (lo, hi), (low, high), i, c)
    assert decided > 10
