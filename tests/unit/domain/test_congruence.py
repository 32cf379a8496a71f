"""Every congruence of modulus up to 6, against the same operation on members."""

import operator
from collections.abc import Callable, Collection
from math import gcd

import pytest

from anyshape.domain import EVERY_INTEGER, Congruence, congruence, solve

WINDOW = range(-14, 15)
WIDE = range(-72, 73)
SMALL = [Congruence(0, r) for r in range(-6, 7)] + [
    Congruence(m, r) for m in range(1, 7) for r in range(m)
]
BINARY: dict[
    str, tuple[Callable[[Congruence, Congruence], Congruence], Callable[[int, int], int]]
] = {
    "add": (Congruence.add, operator.add),
    "sub": (Congruence.sub, operator.sub),
    "mul": (Congruence.mul, operator.mul),
}
UNARY: dict[
    str, tuple[Callable[[Congruence, int], Congruence], Callable[[int, int], int], list[int]]
] = {
    "scale": (Congruence.scale, operator.mul, list(range(-6, 7))),
    "shift": (Congruence.shift, operator.add, list(range(-6, 7))),
    "floordiv": (Congruence.floordiv, operator.floordiv, list(range(1, 10))),
    "mod": (Congruence.mod, operator.mod, [d for d in range(-9, 10) if d]),
}


def members(c: Congruence, window: range) -> list[int]:
    if c.modulus == 0:
        return [c.residue]
    return [n for n in window if n % c.modulus == c.residue]


def smallest(numbers: Collection[int]) -> Congruence:
    """Return the smallest congruence that holds the numbers."""
    first = min(numbers)
    return congruence(gcd(*(n - first for n in numbers)), first)


def assert_exact(
    abstract: Callable[[Congruence, Congruence], Congruence], concrete: Callable[[int, int], int]
) -> None:
    for left in SMALL:
        xs = members(left, WINDOW)
        for right in SMALL:
            results = {concrete(x, y) for x in xs for y in members(right, WINDOW)}
            answer = abstract(left, right)
            assert answer == smallest(results), f"{left} {right}: {answer}"


@pytest.mark.parametrize("name", BINARY)
def test_binary_operation_is_exact(name: str) -> None:
    assert_exact(*BINARY[name])


def test_the_checker_catches_a_planted_wrong_product() -> None:
    def forgets_a_cross_term(left: Congruence, right: Congruence) -> Congruence:
        modulus = gcd(left.modulus * right.modulus, left.modulus * right.residue)
        return congruence(modulus, left.residue * right.residue)

    with pytest.raises(AssertionError):
        assert_exact(forgets_a_cross_term, operator.mul)


@pytest.mark.parametrize("name", UNARY)
def test_operation_with_a_number_is_exact(name: str) -> None:
    abstract, concrete, numbers = UNARY[name]
    for c in SMALL:
        for number in numbers:
            results = {concrete(n, number) for n in members(c, WIDE)}
            assert abstract(c, number) == smallest(results), (c, number)


def test_neg_is_exact() -> None:
    for c in SMALL:
        assert c.neg() == smallest([-n for n in members(c, WIDE)])


def test_lattice_operations_agree_with_membership() -> None:
    for left in SMALL:
        xs = set(members(left, WIDE))
        for right in SMALL:
            ys = set(members(right, WIDE))
            common = left.meet(right)
            assert (set() if common is None else set(members(common, WIDE))) == xs & ys


def test_queries_agree_with_membership() -> None:
    for c in SMALL:
        inside = [n for n in WINDOW if c.contains(n)]
        assert inside == members(c, WINDOW)
        assert c.is_point == (len(inside) == 1)
        assert c.is_everything == (inside == list(WINDOW))


def test_solve_finds_exactly_the_solutions() -> None:
    for target in SMALL:
        for factor in range(-7, 8):
            found = solve(factor, target)
            expected = [x for x in WINDOW if target.contains(factor * x)]
            assert ([] if found is None else members(found, WINDOW)) == expected


def test_normal_form() -> None:
    assert congruence(0, -5) == Congruence(0, -5)
    assert congruence(1, 17) == EVERY_INTEGER
    assert congruence(-6, -1) == Congruence(6, 5)
    for c in SMALL:
        assert congruence(*c) == c


def test_huge_numbers() -> None:
    huge = 10**400
    assert congruence(huge, huge + 7) == Congruence(huge, 7)
    assert Congruence(huge, 7).meet(Congruence(3, 0)) is not None
    assert Congruence(huge, 7).meet(Congruence(10, 0)) is None
    assert Congruence(0, huge).mod(7) == Congruence(0, huge % 7)
    assert solve(huge, Congruence(0, huge * 3)) == Congruence(0, 3)
