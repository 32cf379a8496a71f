"""Every operation on every small interval, against the same operation on integers."""

import operator
from collections.abc import Callable

import pytest

from anyshape.domain import (
    EVERYTHING,
    INF,
    LIMIT,
    NINF,
    Bound,
    Interval,
    lower,
    point,
    upper,
)
from tests.unit.domain.exhaustive import (
    NARROW,
    SMALL,
    WIDE,
    Operation,
    assert_sound,
    is_hull,
    is_within,
    loose_pairs,
    members,
)

HUGE = 10**400
WINDOW = range(-WIDE, WIDE + 1)


def is_nonzero(number: int) -> bool:
    return number != 0


def is_natural(number: int) -> bool:
    return number >= 0


MOD = Operation(Interval.mod, operator.mod, is_nonzero)
TIGHT = {
    "add": Operation(Interval.add, operator.add),
    "sub": Operation(Interval.sub, operator.sub),
    "mul": Operation(Interval.mul, operator.mul),
    "floordiv": Operation(Interval.floordiv, operator.floordiv, is_nonzero),
    "pow": Operation(Interval.pow, pow, is_natural),
    "bit_and": Operation(Interval.bit_and, operator.and_),
    "bit_or": Operation(Interval.bit_or, operator.or_),
    "bit_xor": Operation(Interval.bit_xor, operator.xor),
}
UNARY: dict[str, tuple[Callable[[Interval], Interval], Callable[[int], int]]] = {
    "neg": (Interval.neg, operator.neg),
    "abs": (Interval.abs, abs),
    "scale by 3": (lambda x: x.scale(3), lambda n: 3 * n),
    "scale by 0": (lambda x: x.scale(0), lambda _: 0),
    "scale by -2": (lambda x: x.scale(-2), lambda n: -2 * n),
    "power 0": (lambda x: x.power(0), lambda _: 1),
    "power 1": (lambda x: x.power(1), lambda n: n),
    "power 2": (lambda x: x.power(2), lambda n: n**2),
    "power 3": (lambda x: x.power(3), lambda n: n**3),
}


@pytest.mark.parametrize("name", TIGHT)
def test_binary_operation_is_sound(name: str) -> None:
    assert_sound(TIGHT[name])


@pytest.mark.parametrize("name", TIGHT)
def test_binary_operation_is_tight(name: str) -> None:
    assert loose_pairs(TIGHT[name]) == []


@pytest.mark.parametrize("name", UNARY)
def test_unary_operation_is_sound_and_tight(name: str) -> None:
    abstract, concrete = UNARY[name]
    for interval in SMALL:
        narrow = [concrete(n) for n in members(interval, NARROW)]
        wide = [concrete(n) for n in members(interval, WIDE)]
        answer = abstract(interval)
        hull = Interval(min(wide), max(wide))
        assert is_within(hull, answer), interval
        assert is_hull(answer, Interval(min(narrow), max(narrow)), hull), interval


def test_mod_is_sound() -> None:
    assert_sound(MOD)


def test_mod_is_tight_for_one_divisor_or_an_infinite_dividend() -> None:
    loose = loose_pairs(MOD)
    assert [pair for pair in loose if pair[1].is_point or INF in map(abs, pair[0])] == []


def test_mod_is_tight_for_a_constant_quotient() -> None:
    loose = loose_pairs(MOD)
    positive = [pair for pair in loose if pair[1].lo > 0]
    assert positive
    assert [pair for pair in positive if pair[0].floordiv(pair[1]).is_point] == []


def test_known_imprecision_of_mod() -> None:
    now, best = Interval(0, 3), Interval(1, 3)
    assert point(7).mod(Interval(3, 4)) == now
    assert is_within(best, now)
    assert len(loose_pairs(MOD)) == 240, "update the count if mod became tighter; best is 0"


def wrong_product(left: Interval, right: Interval) -> Interval:
    """Forget that two negative ends make a positive product."""
    ends = (left.lo * right.lo, left.hi * right.hi) if left.lo < 0 else left.mul(right)
    return Interval(*sorted(ends)) if INF not in map(abs, (*left, *right)) else left.mul(right)


def wide_product(left: Interval, right: Interval) -> Interval:
    product = left.mul(right)
    return Interval(product.lo, product.hi + 1)


def test_the_checker_catches_a_planted_unsound_product() -> None:
    with pytest.raises(AssertionError, match="is not within"):
        assert_sound(Operation(wrong_product, operator.mul))


def test_the_checker_catches_a_planted_loose_product() -> None:
    assert_sound(Operation(wide_product, operator.mul))
    assert loose_pairs(Operation(wide_product, operator.mul))


def test_the_checker_catches_an_answer_where_nothing_is_defined() -> None:
    with pytest.raises(AssertionError, match="undefined"):
        assert_sound(Operation(lambda left, _: left, lambda x, _: x, lambda y: y != 0))


def test_set_operations_agree_with_membership() -> None:
    sets = {interval: set(members(interval, WIDE)) for interval in SMALL}
    for left in SMALL:
        for right in SMALL:
            common = left.intersect(right)
            assert (set() if common is None else sets[common]) == sets[left] & sets[right]
            assert is_within(left, right) == (sets[left] <= sets[right])
            hull = left.hull(right)
            assert sets[hull] >= sets[left] | sets[right]
            assert hull.lo in (left.lo, right.lo)
            assert hull.hi in (left.hi, right.hi)


def test_queries_agree_with_membership() -> None:
    for interval in SMALL:
        inside = [n for n in WINDOW if interval.contains(n)]
        assert inside == list(members(interval, WIDE))
        assert interval.is_point == (len(inside) == 1)


def test_undefined_operations_answer_everything() -> None:
    negative = Interval(NINF, -1)
    assert point(3).pow(negative) == EVERYTHING
    assert point(3).floordiv(point(0)) == EVERYTHING
    assert point(3).mod(point(0)) == EVERYTHING


@pytest.mark.parametrize(
    ("answer", "lo", "hi"),
    [
        (point(2).power(10**18), LIMIT, INF),
        (point(-2).power(10**18 + 1), NINF, -LIMIT),
        (Interval(-2, 3).power(HUGE), 0, INF),
        (Interval(-2, 3).pow(point(HUGE)), NINF, INF),
        (point(1).pow(Interval(0, INF)), 1, 1),
        (Interval(-1, 1).pow(Interval(0, HUGE)), -1, 1),
        (point(LIMIT).mul(point(LIMIT)), LIMIT, INF),
        (point(LIMIT).add(point(1)), LIMIT, INF),
        (point(-LIMIT).sub(point(1)), NINF, -LIMIT),
    ],
)
def test_giant_results_become_infinite_at_once(answer: Interval, lo: Bound, hi: Bound) -> None:
    assert answer == Interval(lo, hi)


def test_a_point_past_the_limit_is_half_infinite() -> None:
    assert point(5) == Interval(5, 5)
    assert point(HUGE) == Interval(LIMIT, INF)
    assert point(-HUGE) == Interval(NINF, -LIMIT)


@pytest.mark.parametrize("huge", [HUGE, -HUGE])
@pytest.mark.parametrize("other", [EVERYTHING, Interval(NINF, 3), Interval(-3, INF), point(2)])
@pytest.mark.parametrize("name", [*TIGHT, "mod"])
def test_ends_past_the_limit_are_accepted(huge: int, other: Interval, name: str) -> None:
    built_by_hand = Interval(huge, huge)
    operation = getattr(Interval, name)
    for left, right in ((built_by_hand, other), (other, built_by_hand)):
        answer = operation(left, right)
        assert answer.lo <= answer.hi
        assert answer == Interval(lower(answer.lo), upper(answer.hi))
