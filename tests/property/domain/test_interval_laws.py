"""Lattice laws, soundness on numbers of any size, and exactness on larger boxes."""

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.domain import (
    EVERYTHING,
    INF,
    Interval,
    inverse_floordiv,
    inverse_mul,
    point,
)
from tests.property.domain.strategies import (
    NEGATIVE_CONTROL,
    held_numbers,
    intervals,
    numbers,
    short_intervals,
)
from tests.unit.domain.exhaustive import is_within

Binary = Callable[[Interval, Interval], Interval]

OPERATIONS: dict[str, tuple[Binary, Callable[[int, int], int]]] = {
    "add": (Interval.add, operator.add),
    "sub": (Interval.sub, operator.sub),
    "mul": (Interval.mul, operator.mul),
    "floordiv": (Interval.floordiv, operator.floordiv),
    "mod": (Interval.mod, operator.mod),
    "pow": (Interval.pow, pow),
    "bit_and": (Interval.bit_and, operator.and_),
    "bit_or": (Interval.bit_or, operator.or_),
    "bit_xor": (Interval.bit_xor, operator.xor),
}
NEEDS_SMALL_RIGHT = ("pow",)
BITWISE = ("bit_and", "bit_or", "bit_xor")


def meet(left: Interval | None, right: Interval | None) -> Interval | None:
    return None if left is None or right is None else left.intersect(right)


def assert_holds(
    abstract: Binary, concrete: Callable[[int, int], int], data: st.DataObject
) -> None:
    """Check that the image of two intervals holds the result on a member of each."""
    needs_small = abstract in [OPERATIONS[name][0] for name in NEEDS_SMALL_RIGHT]
    left, x = data.draw(held_numbers())
    right, y = data.draw(held_numbers(st.integers(0, 70) if needs_small else numbers))
    if y == 0 and abstract in (Interval.floordiv, Interval.mod):
        return
    assert abstract(left, right).contains(concrete(x, y))


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
def test_images_hold_results_of_any_size(name: str, data: st.DataObject) -> None:
    assert_holds(*OPERATIONS[name], data)


def test_the_property_catches_a_planted_wrong_product() -> None:
    def wrong_product(left: Interval, right: Interval) -> Interval:
        return left.mul(right).abs()

    @NEGATIVE_CONTROL
    @given(data=st.data())
    def attempt(data: st.DataObject) -> None:
        assert_holds(wrong_product, operator.mul, data)

    with pytest.raises(AssertionError):
        attempt()


@given(left=intervals, right=intervals, more=intervals, other=intervals)
def test_images_are_monotone(
    left: Interval, right: Interval, more: Interval, other: Interval
) -> None:
    ends = [end for interval in (left, right, more, other) for end in interval]
    if any(abs(end) > 1 << 64 and abs(end) != INF for end in ends):
        return  # near LIMIT ends are clamped, which is sound but not monotone to the last unit
    for name, (image, _) in OPERATIONS.items():
        answer = image(left, right)
        undefined = answer == EVERYTHING
        assert undefined or is_within(answer, image(left.hull(more), right.hull(other))), name


@pytest.mark.parametrize("name", BITWISE)
@given(left=short_intervals(), right=short_intervals())
def test_bitwise_images_are_exact(name: str, left: Interval, right: Interval) -> None:
    abstract, concrete = OPERATIONS[name]
    results = [
        concrete(x, y)
        for x in range(int(left.lo), int(left.hi) + 1)
        for y in range(int(right.lo), int(right.hi) + 1)
    ]
    assert abstract(left, right) == Interval(min(results), max(results))


@given(held=held_numbers(), factor=numbers, exponent=st.integers(0, 40))
def test_images_under_a_number_hold_results(
    held: tuple[Interval, int], factor: int, exponent: int
) -> None:
    interval, x = held
    assert interval.scale(factor).contains(x * factor)
    assert interval.power(exponent).contains(x**exponent)
    assert interval.neg().contains(-x)
    assert interval.abs().contains(abs(x))


@given(held_x=held_numbers(), held_y=held_numbers(), slack=intervals)
def test_inverse_mul_loses_no_solution(
    held_x: tuple[Interval, int], held_y: tuple[Interval, int], slack: Interval
) -> None:
    x, (factor, y) = held_x[1], held_y
    answer = inverse_mul(point(x * y).hull(slack), factor)
    assert answer is not None
    assert answer.contains(x)


@given(product=short_intervals(), factor=short_intervals())
def test_inverse_mul_agrees_with_a_search(product: Interval, factor: Interval) -> None:
    ys = range(int(factor.lo), int(factor.hi) + 1)
    found = [x for x in range(-130, 131) if any(product.contains(x * y) for y in ys)]
    answer = inverse_mul(product, factor)
    if answer is None:
        assert found == []
    elif found:
        assert is_within(Interval(found[0], found[-1]), answer)


@given(held=held_numbers(), divisor=numbers.filter(lambda n: n > 0))
def test_inverse_floordiv_loses_no_solution(held: tuple[Interval, int], divisor: int) -> None:
    x = held[1]
    assert inverse_floordiv(point(x // divisor), divisor).contains(x)


@given(a=intervals, b=intervals)
def test_commutative(a: Interval, b: Interval) -> None:
    assert a.hull(b) == b.hull(a)
    assert a.intersect(b) == b.intersect(a)


@given(a=intervals, b=intervals, c=intervals)
def test_associative(a: Interval, b: Interval, c: Interval) -> None:
    assert a.hull(b).hull(c) == a.hull(b.hull(c))
    assert meet(meet(a, b), c) == meet(a, meet(b, c))


@given(a=intervals, b=intervals)
def test_absorption_and_idempotence(a: Interval, b: Interval) -> None:
    common = a.intersect(b)
    assert a.intersect(a.hull(b)) == a
    assert common is None or a.hull(common) == a
    assert a.hull(a) == a == a.intersect(a)


@given(a=intervals, b=intervals, c=intervals)
def test_lattice_operations_are_monotone(a: Interval, b: Interval, c: Interval) -> None:
    wider = a.hull(b)
    assert is_within(a, wider)
    assert is_within(a.hull(c), wider.hull(c))
    common = a.intersect(c)
    if common is not None:
        wider_common = wider.intersect(c)
        assert wider_common is not None
        assert is_within(common, wider_common)


@given(a=intervals, b=intervals)
def test_order_agrees_with_meet_and_join(a: Interval, b: Interval) -> None:
    assert is_within(a, b) == (a.hull(b) == b) == (a.intersect(b) == a)
    assert is_within(a, EVERYTHING)
