from collections.abc import Callable

import pytest

from anyshape.domain.bound import (
    INF,
    LIMIT,
    NINF,
    Bound,
    ceil_div,
    floor_div,
    lower,
    saturating_power,
    times,
    upper,
)

HUGE = 10**400


@pytest.mark.parametrize(
    ("value", "expected_lower", "expected_upper"),
    [
        (0, 0, 0),
        (-7, -7, -7),
        (LIMIT, LIMIT, LIMIT),
        (-LIMIT, -LIMIT, -LIMIT),
        (LIMIT + 1, LIMIT, INF),
        (-LIMIT - 1, NINF, -LIMIT),
        (HUGE, LIMIT, INF),
        (-HUGE, NINF, -LIMIT),
        (INF, LIMIT, INF),
        (NINF, NINF, -LIMIT),
    ],
)
def test_clamping_moves_outward(value: Bound, expected_lower: Bound, expected_upper: Bound) -> None:
    assert lower(value) == expected_lower
    assert upper(value) == expected_upper


def test_division_of_ends_rounds_down_and_up() -> None:
    for bound in range(-12, 13):
        for divisor in range(1, 6):
            assert floor_div(bound, divisor) == bound // divisor
            assert ceil_div(bound, divisor) == -((-bound) // divisor)
            assert ceil_div(bound, divisor) - 1 < bound / divisor <= ceil_div(bound, divisor)


@pytest.mark.parametrize("divide", [floor_div, ceil_div])
def test_division_keeps_infinities(divide: Callable[[Bound, int], Bound]) -> None:
    assert divide(INF, 3) == INF
    assert divide(NINF, HUGE) == NINF
    assert divide(HUGE, HUGE) == 1


@pytest.mark.parametrize(
    ("left", "right", "product"),
    [
        (6, -7, -42),
        (0, INF, 0),
        (0, NINF, 0),
        (3, INF, INF),
        (-3, INF, NINF),
        (3, NINF, NINF),
        (NINF, NINF, INF),
        (INF, NINF, NINF),
        (HUGE, INF, INF),
        (-HUGE, INF, NINF),
        (-HUGE, NINF, INF),
        (HUGE, HUGE, HUGE * HUGE),
    ],
)
def test_product_of_ends(left: Bound, right: Bound, product: Bound) -> None:
    assert times(left, right) == product
    assert times(right, left) == product


def test_small_powers_are_exact() -> None:
    for base in range(6):
        for exponent in range(6):
            assert saturating_power(base, exponent) == base**exponent


@pytest.mark.parametrize(
    ("base", "exponent", "power"),
    [
        (0, INF, 0),
        (1, INF, 1),
        (2, INF, INF),
        (INF, 0, 1),
        (INF, 1, INF),
        (INF, 3, INF),
        (1, HUGE, 1),
        (2, HUGE, INF),
        (2, 240, LIMIT),
        (2, 241, INF),
        (3, 240, 3**240),
        (HUGE, 1, HUGE),
        (HUGE, 2, INF),
    ],
)
def test_large_powers_saturate(base: Bound, exponent: Bound, power: Bound) -> None:
    assert saturating_power(base, exponent) == power
