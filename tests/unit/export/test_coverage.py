"""Proofs that regions cover all sizes, and holes, against enumeration."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from anyshape.env import Env
from anyshape.export import coverage as tested
from anyshape.export.coverage import Size, coverage
from anyshape.expr import parse, symbol

SIZES = [Size("n", 0, float("inf")), Size("m", 0, float("inf"))]
GRID = list(itertools.product(range(14), range(14)))


def conditions(*texts: str) -> list[Any]:
    env = Env()
    for size in SIZES:
        symbol(env.pool, size.name, size.least, size.most)
    return [parse(env.pool, text) for text in texts]


def covered(*regions: list[str], allowed: tuple[str, ...] = ()) -> Any:
    return coverage(SIZES, conditions(*allowed), [conditions(*r) for r in regions])


def holds(text: str, n: int, m: int) -> bool:
    try:
        return bool(eval(text, {"n": n, "m": m}))
    except ZeroDivisionError:
        return False  # as a guard without a value


def hole(regions: tuple[list[str], ...], allowed: tuple[str, ...] = ()) -> Any:
    """The first sizes on a grid that are allowed and in no region."""
    for n, m in GRID:
        if all(holds(p, n, m) for p in allowed) and not any(
            all(holds(p, n, m) for p in r) for r in regions
        ):
            return n, m
    return None


COMPLETE = [
    (["n != 0", "m % n == 0"], ["n != 0", "m % n != 0"], ["n == 0"]),
    (["n >= 1", "m // n <= 2"], ["n >= 1", "m // n >= 3"], ["n == 0"]),
    (["n // (m // 2) == 0", "m >= 2"], ["n // (m // 2) != 0", "m >= 2"], ["m <= 1"]),
    (["n % 2 == 0"], ["n % 2 == 1"]),
    (["n % m == 0"], ["n % m != 0"], ["m == 0"]),
]
HOLES = [
    (["m % n == 0"], ["m % n != 0"]),  # neither has a value at n == 0
    (["n != 0", "m // n <= 2"], ["n == 0"], ["n != 0", "m // n >= 4"]),
    (["n // (m // 2) == 0"], ["n // (m // 2) != 0"], ["m == 0"]),
    (["n % 6 != 4"], ["m != 3"]),
    (["n*m != 36"], ["n != m"]),
]


@pytest.mark.parametrize("regions", COMPLETE)
def test_regions_with_divisions_that_cover_everything(regions: tuple[list[str], ...]) -> None:
    assert hole(regions) is None
    assert covered(*regions).is_proved


@pytest.mark.parametrize("regions", HOLES)
@pytest.mark.parametrize("has_z3", [True, False])
def test_a_hole_is_never_proved_away(
    regions: tuple[list[str], ...], has_z3: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_z3:
        monkeypatch.setattr(tested._Cases, "solved", lambda self: tested.Coverage(False))
    assert hole(regions) is not None
    assert not covered(*regions).is_proved


TERMS = ("n", "m", "n + m", "n % m", "m // n", "n // (m + 1)", "n*m", "n % 3", "(n + 2) // 3")


@pytest.mark.parametrize("seed", range(150))
def test_random_regions(seed: int) -> None:
    draw = random.Random(seed)

    def condition() -> str:
        return f"{draw.choice(TERMS)} {draw.choice(('==', '!=', '<=', '>='))} {draw.randrange(4)}"

    cuts = [condition() for _ in range(2)]
    opposite = {"==": "!=", "!=": "==", "<=": ">", ">=": "<"}

    def other(text: str) -> str:
        left, op, right = text.rsplit(" ", 2)
        return f"{left} {opposite[op]} {right}"

    sides = [(text, other(text)) for text in cuts]
    regions = [list(sides_) for sides_ in itertools.product(*sides)]
    regions += [[draw.choice(("n == 0", "m == 0", "n <= 1"))] for _ in range(2)]
    if draw.random() < 0.3:
        regions.pop(draw.randrange(4))
    found = covered(*regions)
    if found.is_proved:
        assert hole(tuple(regions)) is None
    elif found.hole is not None and max(found.hole.values()) < 14:
        sizes = found.hole["n"], found.hole["m"]
        assert not any(all(holds(p, *sizes) for p in r) for r in regions)


def test_some_random_regions_are_proved_and_some_have_holes() -> None:
    both = [["n % m == 0"], ["n % m != 0"]]
    assert covered(*both, ["m == 0"]).is_proved
    assert not covered(*both).is_proved


def test_regions_of_what_is_allowed_are_covered_without_a_proof(monkeypatch):
    monkeypatch.setattr(tested, "_by_divisors", None)
    allowed = conditions("n <= 9", "n >= 2")
    assert coverage(SIZES, allowed, [allowed[:1]]).is_proved
    assert coverage(SIZES, allowed, [[]]).is_proved
    with pytest.raises(TypeError):
        coverage(SIZES, allowed, [conditions("m <= 9")])
