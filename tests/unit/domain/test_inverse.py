"""Every pair of small intervals, against a search for solutions."""

from collections.abc import Callable

import pytest

from anyshape.domain import (
    EVERYTHING,
    INF,
    LIMIT,
    NINF,
    Interval,
    inverse_floordiv,
    inverse_mul,
    point,
)
from tests.unit.domain.exhaustive import NARROW, SMALL, WIDE, is_hull, is_within, members

HUGE = 10**400


def solutions(window: int) -> dict[tuple[Interval, Interval], list[int]]:
    """Return for each product and factor the x in the window that solve `x * y in product`."""
    numbers = range(-window, window + 1)
    factors = {factor: frozenset(members(factor, window)) for factor in SMALL}
    found: dict[tuple[Interval, Interval], list[int]] = {}
    for product in SMALL:
        good = [(x, {y for y in numbers if product.contains(x * y)}) for x in numbers]
        for factor, ys in factors.items():
            found[product, factor] = [x for x, good_ys in good if not ys.isdisjoint(good_ys)]
    return found


def assert_exact(inverse: Callable[[Interval, Interval], Interval | None]) -> None:
    narrow, wide = solutions(NARROW), solutions(WIDE)
    for (product, factor), xs in wide.items():
        answer = inverse(product, factor)
        if answer is None:
            assert xs == [], f"{product} {factor}: {xs} lost"
        else:
            assert xs, f"{product} {factor}: {answer} is not empty"
            few = narrow[product, factor]
            assert is_hull(answer, Interval(few[0], few[-1]), Interval(xs[0], xs[-1])), (
                f"{product} {factor}: {answer} is not the hull of {xs}"
            )


def test_inverse_mul_is_exact_on_small_intervals() -> None:
    assert_exact(inverse_mul)


def test_the_checker_catches_a_forgotten_zero_factor() -> None:
    def forgets_zero(product: Interval, factor: Interval) -> Interval | None:
        return inverse_mul(product, factor.intersect(Interval(1, INF)) or factor)

    with pytest.raises(AssertionError, match="is not the hull"):
        assert_exact(forgets_zero)


def test_the_checker_catches_a_lost_solution() -> None:
    with pytest.raises(AssertionError, match="lost"):
        assert_exact(lambda *_: None)


def test_inverse_floordiv_is_exact() -> None:
    for quotient in SMALL:
        for divisor in range(1, 5):
            answer = inverse_floordiv(quotient, divisor)
            for x in range(-WIDE, WIDE + 1):
                assert answer.contains(x) == quotient.contains(x // divisor)


@pytest.mark.parametrize(
    ("product", "factor", "expected"),
    [
        (point(12), Interval(2, INF), Interval(1, 6)),
        (point(7), Interval(2, INF), point(1)),
        (point(7), Interval(2, 6), None),
        (point(323), Interval(31, 284), None),  # both searches run out of steps, past each other
        (point(-12), Interval(5, 12), Interval(-2, -1)),
        (Interval(100, INF), Interval(3, 7), Interval(15, INF)),
        (Interval(0, 100), Interval(3, 7), Interval(0, 33)),
        (Interval(1, 3), Interval(0, 0), None),
        (Interval(1, 3), Interval(10, 20), None),
        (Interval(0, 3), EVERYTHING, EVERYTHING),
        (Interval(1, INF), Interval(1, INF), Interval(1, INF)),
        (Interval(NINF, -5), Interval(-2, 0), Interval(3, INF)),
    ],
)
def test_inverse_mul_examples(
    product: Interval, factor: Interval, expected: Interval | None
) -> None:
    assert inverse_mul(product, factor) == expected


def test_known_imprecision_of_inverse_mul() -> None:
    prime = 1_000_003
    now, best = Interval(2, 500_000), None
    answer = inverse_mul(point(prime), Interval(2, prime - 1))
    assert answer is not None, f"update if it became tighter; best is {best}"
    assert is_within(answer, now)


def test_huge_numbers() -> None:
    assert inverse_mul(Interval(HUGE, HUGE), Interval(1, INF)) == Interval(1, INF)
    assert inverse_mul(Interval(HUGE, HUGE), point(10)) == Interval(LIMIT, INF)
    assert inverse_mul(Interval(-HUGE, INF), point(HUGE)) is not None
    assert inverse_floordiv(Interval(NINF, INF), HUGE) == EVERYTHING
    assert inverse_floordiv(Interval(0, 1), HUGE) == Interval(0, INF)
    assert inverse_floordiv(Interval(-1, 0), HUGE) == Interval(NINF, INF)
