"""Products and powers: one monomial for all orders, groups beyond the limit, refusals."""

import itertools

import pytest

from anyshape.errors import UnsupportedError
from anyshape.expr import Expr, Pool, evaluate, multiply, parse, power, show, symbol
from anyshape.expr.constructor.bitwise import bit_or
from anyshape.expr.constructor.product import (
    EXPAND_LIMIT,
    MAX_EXPONENT,
    MAX_FACTORS,
    as_factors,
    factors,
    monomial,
)
from anyshape.expr.table.op import GROUP, PRODUCT
from anyshape.expr.terms import terms


def symbols(count: int) -> tuple[Pool, list[Expr]]:
    pool = Pool()
    return pool, [symbol(pool, f"s{i}") for i in range(count)]


def total(pool: Pool, operands: list[Expr]) -> Expr:
    result = pool.zero
    for e in operands:
        result = result + e
    return result


def test_a_monomial_is_one_object_in_any_order() -> None:
    _, (a, b, c) = symbols(3)
    whole = multiply(multiply(a, b), multiply(a, c))
    for x, y, z, w in itertools.permutations((a, a, b, c)):
        assert multiply(multiply(multiply(x, y), z), w) is whole
    (atom,) = terms(whole)
    assert [(f.node, k) for f, k in factors(atom)] == [(a, 2), (b, 1), (c, 1)]


def test_sums_are_multiplied_out_while_small() -> None:
    pool, (a, b) = symbols(2)
    assert multiply(a + b, a - b) is power(a, pool.const(2)) - power(b, pool.const(2))
    assert multiply(a.shift(1), b.shift(2)) is (multiply(a, b) + a.scale(2) + b).shift(2)
    assert multiply(a, pool.const(3)) is multiply(pool.const(3), a) is a.scale(3)


def test_large_sums_become_groups() -> None:
    pool, found = symbols(EXPAND_LIMIT + 1)
    wide = total(pool, found).scale(6).shift(12)
    product = multiply(wide, found[0])
    (atom,) = terms(product)
    assert atom.op is PRODUCT
    assert [f.op for f, _ in factors(atom)] == [found[0].pool.atoms[0].op, GROUP]
    assert terms(product)[atom] == 6  # the content is outside
    assert multiply(found[0], wide) is product
    assert multiply(found[0], -wide) is -product
    assert multiply(multiply(wide, found[0]), wide) is multiply(wide, multiply(found[0], wide))
    assert parse(pool, show(product)) is product
    values = {f"s{i}": i - 3 for i in range(len(found))}
    assert evaluate(product, values) == evaluate(wide, values) * values["s0"]


def test_a_product_of_many_sums_does_not_explode() -> None:
    pool, found = symbols(40)
    sums = [total(pool, found[i : i + 5]) for i in range(0, 35, 5)]
    product = pool.const(1)
    for e in sums:
        product = multiply(product, e)
    assert len(terms(product)) <= EXPAND_LIMIT
    values = {f"s{i}": i % 5 - 2 for i in range(40)}
    expected = 1
    for e in sums:
        expected *= evaluate(e, values)
    assert evaluate(product, values) == expected
    grouped = multiply(multiply(sums[0], sums[1]), sums[2])
    assert len(terms(grouped)) == 1
    assert parse(pool, show(grouped)) is grouped


def test_as_factors() -> None:
    pool, (a, b) = symbols(2)
    (of_a,), (of_b,) = terms(a), terms(b)
    assert as_factors(multiply(a, b).scale(-4)) == (-4, ((of_a, 1), (of_b, 1)))
    scale, ((group, exponent),) = as_factors((a + b).scale(-6))
    assert (abs(scale), exponent, group.op) == (6, 1, GROUP)
    assert group.exprs[0].scale(scale) is (a + b).scale(-6)
    assert monomial(pool, {group: 1}) is group.exprs[0]
    assert monomial(pool, {}) is pool.const(1)
    assert monomial(pool, {of_a: 1}) is a


@pytest.mark.parametrize(("k", "text"), [(0, "1"), (1, "s0"), (2, "s0**2"), (5, "s0**5")])
def test_powers_of_a_symbol(k: int, text: str) -> None:
    pool, (a,) = symbols(1)
    assert show(power(a, pool.const(k))) == text


def test_powers_of_a_sum_agree_with_repeated_products() -> None:
    pool, (a, b) = symbols(2)
    by_products = pool.const(1)
    for k in range(8):
        assert power(a - b, pool.const(k)) is by_products
        by_products = multiply(by_products, a - b)
    assert parse(pool, show(power(a - b, pool.const(40)))) is power(a - b, pool.const(40))


def test_constant_powers() -> None:
    pool, (a,) = symbols(1)
    assert power(pool.const(-3), pool.const(3)) is pool.const(-27)
    assert power(pool.const(-1), pool.const(10**60)) is pool.const(1)
    assert power(pool.const(0), pool.const(0)) is pool.const(1)
    assert power(pool.const(1), a) is pool.const(1)
    assert power(pool.const(2), pool.const(200)) is pool.const(1 << 200)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p, a: power(a, p.const(-1)), ValueError, "negative exponent"),
        (lambda p, a: power(a, p.const(MAX_EXPONENT + 1)), UnsupportedError, "to the power"),
        (lambda p, a: power(p.const(2), p.const(10**9)), UnsupportedError, "beyond"),
        (lambda p, a: power(p.const(3), p.const(256)), UnsupportedError, "beyond"),
        (
            lambda p, a: multiply(power(a, p.const(60)), power(a, p.const(60))),
            UnsupportedError,
            "to the power 120",
        ),
        (lambda p, a: multiply(a.scale(1 << 200), a.scale(1 << 200)), UnsupportedError, "beyond"),
    ],
)
def test_refusals(build: object, error: type[Exception], message: str) -> None:
    pool, (a,) = symbols(1)
    with pytest.raises(error, match=message):
        build(pool, a)  # type: ignore[operator]


def test_a_product_of_too_many_factors_is_refused() -> None:
    pool, found = symbols(MAX_FACTORS + 1)
    product = pool.const(1)
    for a in found[:-1]:
        product = multiply(product, a)
    with pytest.raises(UnsupportedError, match="product of 257"):
        multiply(product, found[-1])


def test_hints_of_large_powers_are_given_up_quickly() -> None:
    pool = Pool()
    e = symbol(pool, "s", hint=3)
    for _ in range(8):
        e = power(bit_or(e, pool.const(1)), pool.const(60))
    assert e.hint is None
