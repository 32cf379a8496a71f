"""Polynomials: every identity and bound is checked at all small values."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from anyshape.domain import NINF
from anyshape.env import Env
from anyshape.env.knowledge.polynomial import (
    common_factors,
    constant_remainder,
    divide,
    least_value,
    may_vanish,
    without_factor,
)
from anyshape.expr import Expr, evaluate, multiply, parse, power
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.expr import Pool
    from anyshape.expr.node import Atom

POINTS = [dict(zip(("u0", "u1", "u2"), p, strict=True)) for p in product(range(-4, 5), repeat=3)]


@pytest.fixture
def pool() -> Pool:
    env = Env()
    for _ in range(3):
        env.unbacked()
    return env.pool


def expression(pool: Pool, text: str) -> Expr:
    e = parse(pool, text)
    assert isinstance(e, Expr)
    return e


def values(e: Expr) -> Iterator[int]:
    return (evaluate(e, point) for point in POINTS)


@pytest.mark.parametrize(
    ("x", "y", "whole"),
    [
        ("(u0 + 10)*(u0 + 10)", "u0 + 10", "u0 + 10"),
        ("(u0 + u1)*(u0 - u1)", "u0 - u1", "u0 + u1"),
        ("(u0 + u1)*(u0 + u1) + 3", "u0 + u1", "u0 + u1"),
        ("6*u0*u1", "2*u0", "3*u1"),
        ("u0*u1 + u1 + u0", "u0 + 1", "u1 + 1"),
        ("3*u0", "2*u0", "0"),
        ("u1", "u0", "0"),
        ("u0*u0*u0 - 1", "u0 - 1", "u0*u0 + u0 + 1"),
    ],
)
def test_division(pool: Pool, x: str, y: str, whole: str) -> None:
    found, rest = divide(expression(pool, x), expression(pool, y))
    assert found is expression(pool, whole)
    assert multiply(found, expression(pool, y)) + rest is expression(pool, x)


def test_a_division_that_grows_is_left() -> None:
    env = Env()
    many = [env.unbacked() for _ in range(35)]
    total = sum(many[1:], start=many[0])
    x = multiply(many[-1], env.unbacked())
    assert divide(x, total) == (env.pool.zero, x)


def test_a_division_ends_after_a_number_of_steps(pool: Pool) -> None:
    x, y = power(expression(pool, "u0"), pool.const(30)), expression(pool, "u0 + 1")
    whole, rest = divide(x, y)
    assert len(terms(whole)) == 16
    assert multiply(whole, y) + rest is x


@pytest.mark.parametrize(
    ("e", "common"),
    [
        ("u0*u1 - u0*u2", ["u0"]),
        ("u0*u1*u2 - u0*u1", ["u0", "u1"]),
        ("u0*u1 + 1", []),
        ("u0 - u1", []),
        ("u0*u1 - u2", []),
        ("u0*u0*u1 + u0", ["u0"]),
    ],
)
def test_common_factors(pool: Pool, e: str, common: list[str]) -> None:
    given = expression(pool, e)
    found = common_factors(given)
    assert [atom.name for atom in found] == common
    for atom in found:
        assert multiply(without_factor(given, atom), atom.node) is given


@pytest.mark.parametrize(
    ("e", "least"),
    [
        ("u0*u0", 0),
        ("u0*u0 + u1*u1 - 2*u0*u1", 0),
        ("u0*u0 - u0", 0),  # -1/4, and an integer
        ("u0*u0 - 2*u0", -1),
        ("u0*u0 + u1*u1 + u2*u2 - u0*u1 - u1*u2 - u0*u2", 0),
        ("2*u0*u0 + 3*u1*u1 - 4*u0*u1 - 6*u1 + 1", -8),
        ("u0*u0 - 4*u0*u1 + u1*u1", NINF),
        ("u0*u0 + u1", NINF),
        ("u0*u1", NINF),
        ("-u0*u0", NINF),
        ("u0*u0*u0 + u0*u0", NINF),
    ],
)
def test_least_value(pool: Pool, e: str, least: float) -> None:
    given = expression(pool, e)
    assert least_value(given) == least
    assert least <= min(values(given))


def test_many_variables_are_left(pool: Pool) -> None:
    env = Env()
    total = env.pool.zero
    for _ in range(7):
        u = env.unbacked()
        total = total + multiply(u, u)
    assert least_value(total) == NINF


@pytest.mark.parametrize(
    ("e", "d", "remainder"),
    [
        ("u0*u0 + u0", 2, 0),
        ("u0*u0*u0 - u0", 3, 0),
        ("u0*u0*u0 - u0", 6, 0),
        ("u0*u0*u0 - u0 + 7", 6, 1),
        ("u0*u0", 4, None),
        ("u0*u1 + u0 + u1 + 1", 2, None),
        ("u0*u1*u2", 64, None),
        ("u0*u1", 1000, None),
        ("(u0*u0 + u0)*(u1 // 2)", 2, None),  # only symbols have a value modulo d
    ],
)
def test_constant_remainder(pool: Pool, e: str, d: int, remainder: int | None) -> None:
    given = expression(pool, e)
    assert constant_remainder(given, d, lambda _: range(d)) == remainder
    if remainder is not None:
        assert {value % d for value in values(given)} == {remainder}


def test_known_residues_count(pool: Pool) -> None:
    def odd(_: Atom) -> range:
        return range(1, 8, 2)

    assert constant_remainder(expression(pool, "u0*u0"), 8, odd) == 1
    assert constant_remainder(expression(pool, "u0*u0"), 8, lambda _: ()) is None


@pytest.mark.parametrize(
    ("e", "possible"),
    [
        ("u0*u0 - 2", False),
        ("u0*u0 - 4", True),
        ("u0*u0 + 4", False),
        ("u0*u0*u0 + 8", True),
        ("u0*u0*u0 + 9", False),
        ("2*u0*u0 - 9", False),
        ("2*u0*u0 - 8", True),
        ("u0*u0*u1*u1 - 5", False),
        ("u0*u1 - 5", True),
        ("u0*u0 - u1", True),
    ],
)
def test_powers(pool: Pool, e: str, possible: bool) -> None:
    given = expression(pool, e)
    assert may_vanish(given) is possible
    assert possible or 0 not in values(given)
