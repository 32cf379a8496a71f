"""Expressions that differ by a factor and a constant have one direction."""

import pytest

from anyshape.env.knowledge.direction import direction_of
from anyshape.expr import Pool, symbol


@pytest.mark.parametrize("value", [-3, 0, 7])
def test_a_constant_has_no_direction(value: int) -> None:
    pool = Pool()
    assert direction_of(pool.const(value)) == (pool.zero, 0)


@pytest.mark.parametrize(("factor", "shift"), [(1, 0), (-1, 2), (6, -5), (-4, 1)])
def test_multiples_share_a_direction(factor: int, shift: int) -> None:
    pool = Pool()
    e = symbol(pool, "a").scale(2) - symbol(pool, "b").scale(3)
    direction, by = direction_of(e)
    assert direction_of(e.scale(factor).shift(shift)) == (direction, by * factor)
    assert direction.scale(by) is e


@pytest.mark.parametrize("count", [2, 3, 40])
@pytest.mark.parametrize("sign", [1, -1])
def test_of_a_sum_and_its_negation_the_first_is_the_direction(count: int, sign: int) -> None:
    pool = Pool()
    e = symbol(pool, "x")
    for i in range(count - 1):
        e = e + symbol(pool, f"x{i}") if sign > 0 else e - symbol(pool, f"x{i}")
    nodes = len(pool.nodes)
    assert direction_of(e) == (e, 1)
    assert len(pool.nodes) == nodes
    assert direction_of(-e) == (e, -1)
    assert direction_of(e.scale(-3).shift(2)) == (e, -3)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_of_two_that_exist_the_positive_one_is_the_direction(count: int) -> None:
    pool = Pool()
    positive = sum((symbol(pool, f"x{i}") for i in range(1, count)), start=symbol(pool, "x0"))
    assert direction_of(-positive) == (positive, -1)
    assert direction_of(positive) == (positive, 1)
