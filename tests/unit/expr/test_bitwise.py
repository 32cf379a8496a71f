"""Identities of the opaque ops."""

import math

import pytest

from anyshape.errors import UnsupportedError
from anyshape.expr import Pool, choose, ge0, negate, parse, symbol
from anyshape.expr.boolean import constant
from anyshape.expr.constructor.bitwise import bit_and, bit_or, bit_xor, left_shift, right_shift
from anyshape.expr.constructor.rounding import floor, nearest
from anyshape.expr.real import real_const, real_symbol


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("bit_and(x, 0)", "0"),
        ("bit_and(-1, x)", "x"),
        ("bit_and(x, x)", "x"),
        ("bit_and(12, 10)", "8"),
        ("bit_and(x, y)", "bit_and(y, x)"),
        ("bit_or(0, x)", "x"),
        ("bit_or(x, -1)", "-1"),
        ("bit_or(x, x)", "x"),
        ("bit_xor(x, 0)", "x"),
        ("bit_xor(x, -1)", "-x - 1"),
        ("bit_xor(-1, x)", "-x - 1"),
        ("bit_xor(x, x)", "0"),
        ("bit_xor(3, x)", "bit_xor(x, 3)"),
        ("ite(True, x, y)", "x"),
        ("ite(False, x, y)", "y"),
        ("ite(x <= y, y, y)", "y"),
        ("ite(x <= y, x, y)", "ite(y < x, y, x)"),
        ("ite(x <= y, 3*x, 3*y)", "3*ite(x <= y, x, y)"),
        ("ite(x <= y, x + z, y + z)", "ite(x <= y, x, y) + z"),
        ("ite(x <= y, x, 0) + ite(x <= y, 0, x)", "x"),
        ("floor(2.5)", "2"),
        ("ceil(2.5)", "3"),
        ("round(2.5)", "2"),
        ("trunc(-2.5)", "-2"),
    ],
)
def test_identities(left: str, right: str) -> None:
    pool = Pool()
    for name in "xyz":
        symbol(pool, name)
    assert parse(pool, left) is parse(pool, right)


def test_shifts() -> None:
    pool = Pool()
    x, n = symbol(pool, "x"), symbol(pool, "n", 0)
    assert left_shift(x, pool.const(3)) is x.scale(8)
    assert right_shift(x, pool.const(3)) is parse(pool, "x // 8")
    assert left_shift(x, n) is parse(pool, "x*2**n")
    assert right_shift(x, n) is parse(pool, "x // 2**n")
    with pytest.raises(ValueError, match="negative exponent"):
        left_shift(x, pool.const(-1))


def test_the_condition_made_first_is_in_the_atom() -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    condition = ge0(x)
    assert choose(negate(condition), y, pool.zero) is y - choose(condition, y, pool.zero)
    assert choose(constant(pool, True), x, y) is x


def test_commutative_ops_have_one_order() -> None:
    pool = Pool()
    x, y = symbol(pool, "x"), symbol(pool, "y")
    for build in (bit_and, bit_or, bit_xor):
        assert build(x, y) is build(y, x)
        assert build(x, pool.const(5)) is build(pool.const(5), x)


@pytest.mark.parametrize(
    ("value", "error"),
    [(math.inf, OverflowError), (math.nan, ValueError), (1e300, UnsupportedError)],
)
def test_rounding_a_constant_raises_as_python_does(value: float, error: type[Exception]) -> None:
    with pytest.raises(error):
        floor(real_const(Pool(), value))


def test_roundings_are_interned() -> None:
    f = real_symbol(Pool(), "f", None)
    assert floor(f) is floor(f)
    assert nearest(f) is not floor(f)
