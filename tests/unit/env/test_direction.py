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
