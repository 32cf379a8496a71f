"""Every small interval with every small congruence, against membership."""

from collections.abc import Callable

import pytest

from anyshape.domain import (
    EVERYTHING,
    INF,
    LIMIT,
    NINF,
    Congruence,
    Interval,
    tighten,
)
from tests.unit.domain.exhaustive import NARROW, WIDE, is_hull, members
from tests.unit.domain.exhaustive import SMALL as INTERVALS
from tests.unit.domain.test_congruence import SMALL as CONGRUENCES

HUGE = 10**400


def assert_exact(reduce: Callable[[Interval, Congruence], Interval | None]) -> None:
    for interval in INTERVALS:
        for c in CONGRUENCES:
            wide = [n for n in members(interval, WIDE) if c.contains(n)]
            narrow = [n for n in wide if abs(n) <= NARROW]
            answer = reduce(interval, c)
            if answer is None:
                assert wide == [], f"{interval} {c}: {wide} lost"
            else:
                assert wide, f"{interval} {c}: {answer} is not empty"
                hull = Interval(wide[0], wide[-1])
                assert is_hull(answer, Interval(narrow[0], narrow[-1]), hull), (
                    f"{interval} {c}: {answer} is not {hull}"
                )


def test_tighten_is_exact() -> None:
    assert_exact(tighten)


def test_the_checker_catches_an_end_that_moves_outward() -> None:
    def rounds_the_wrong_way(interval: Interval, c: Congruence) -> Interval | None:
        lo, hi = interval
        if isinstance(lo, float) or c.modulus == 0:
            return tighten(interval, c)
        return tighten(Interval(lo - (lo - c.residue) % c.modulus, hi), c)

    with pytest.raises(AssertionError, match="is not"):
        assert_exact(rounds_the_wrong_way)


def test_huge_numbers() -> None:
    assert tighten(EVERYTHING, Congruence(0, HUGE)) == Interval(LIMIT, INF)
    assert tighten(Interval(0, HUGE), Congruence(0, HUGE)) == Interval(LIMIT, HUGE)
    assert tighten(Interval(0, LIMIT), Congruence(0, HUGE)) is None
    assert tighten(Interval(1, INF), Congruence(HUGE, 0)) == Interval(LIMIT, INF)
    assert tighten(Interval(NINF, -1), Congruence(HUGE, 0)) == Interval(NINF, -LIMIT)
    assert tighten(Interval(1, LIMIT), Congruence(HUGE, 0)) is None
