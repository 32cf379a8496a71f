"""Lattice laws of congruences and of their product with intervals, on numbers of any size."""

import operator
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.domain import EVERY_INTEGER, Congruence, Interval, congruence, point, solve, tighten
from tests.property.domain.strategies import NEGATIVE_CONTROL, congruences, held_numbers, numbers

Binary = Callable[[Congruence, Congruence], Congruence]

OPERATIONS: dict[str, tuple[Binary, Callable[[int, int], int]]] = {
    "add": (Congruence.add, operator.add),
    "sub": (Congruence.sub, operator.sub),
    "mul": (Congruence.mul, operator.mul),
}


def meet(left: Congruence | None, right: Congruence | None) -> Congruence | None:
    return None if left is None or right is None else left.meet(right)


def member(c: Congruence, index: int) -> int:
    return c.residue + c.modulus * index


def assert_holds(
    abstract: Binary, concrete: Callable[[int, int], int], data: st.DataObject
) -> None:
    """Check that the image of two congruences holds the result on a member of each."""
    a, b = data.draw(congruences), data.draw(congruences)
    x, y = member(a, data.draw(numbers)), member(b, data.draw(numbers))
    assert abstract(a, b).contains(concrete(x, y))


@pytest.mark.parametrize("name", OPERATIONS)
@given(data=st.data())
def test_images_hold_results(name: str, data: st.DataObject) -> None:
    assert_holds(*OPERATIONS[name], data)


def test_the_property_catches_a_planted_wrong_sum() -> None:
    def wrong_sum(left: Congruence, right: Congruence) -> Congruence:
        return congruence(left.modulus, left.residue + right.residue)

    @NEGATIVE_CONTROL
    @given(data=st.data())
    def attempt(data: st.DataObject) -> None:
        assert_holds(wrong_sum, operator.add, data)

    with pytest.raises(AssertionError):
        attempt()


@given(a=congruences, i=numbers, number=numbers)
def test_images_under_a_number_hold_results(a: Congruence, i: int, number: int) -> None:
    x = member(a, i)
    assert a.neg().contains(-x)
    assert a.shift(number).contains(x + number)
    assert a.scale(number).contains(x * number)
    if number:
        assert a.mod(number).contains(x % number)
        assert a.floordiv(abs(number)).contains(x // abs(number))


@given(x=numbers, factor=numbers, modulus=numbers)
def test_solve_loses_no_solution(x: int, factor: int, modulus: int) -> None:
    found = solve(factor, congruence(modulus, x * factor))
    assert found is not None
    assert found.contains(x)


@given(target=congruences, factor=numbers, i=numbers)
def test_solve_finds_solutions_only(target: Congruence, factor: int, i: int) -> None:
    found = solve(factor, target)
    assert found is None or target.contains(factor * member(found, i))


@given(a=congruences, b=congruences, c=congruences)
def test_commutative_and_associative(a: Congruence, b: Congruence, c: Congruence) -> None:
    assert a.meet(b) == b.meet(a)
    assert meet(meet(a, b), c) == meet(a, meet(b, c))


@given(a=congruences, b=congruences)
def test_a_meet_is_below_both(a: Congruence, b: Congruence) -> None:
    common = a.meet(b)
    assert common is None or a.meet(common) == b.meet(common) == common
    assert a.meet(EVERY_INTEGER) == a.meet(a) == a


@given(a=congruences, b=congruences, i=numbers)
def test_a_meet_agrees_with_membership(a: Congruence, b: Congruence, i: int) -> None:
    x = member(a, i)
    common = a.meet(b)
    assert (common is not None and common.contains(x)) == b.contains(x)


@given(held=held_numbers(), modulus=st.integers(0, 10**30) | numbers)
def test_tighten_keeps_common_members(held: tuple[Interval, int], modulus: int) -> None:
    interval, x = held
    answer = tighten(interval, congruence(modulus, x))
    assert answer is not None
    assert answer.contains(x)


@given(x=st.integers(-(2**64), 2**64), modulus=st.integers(1, 2**64))
def test_tighten_refuses_a_number_outside(x: int, modulus: int) -> None:
    c = congruence(modulus, x + 1)
    assert tighten(point(x), c) == (point(x) if modulus == 1 else None)
