"""Roundings, absolute values and choices in one another, against all points; see `grid.py`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env.ladder import elimination, question
from anyshape.env.learning import propagation
from anyshape.errors import ConstraintError, RuntimeAssertError
from tests.unit.env.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable

STORIES = 150
LEAST, GREATEST = (-3, 0), 9  # for every other story
SHARE = 0.75  # of the questions that the points decide

DEEPER: tuple[Callable[[random.Random, str, str], str], ...] = (
    lambda r, x, _y: f"{r.choice(('floor', 'ceil', 'trunc', 'round'))}(({x})/{r.choice((2, 3))})",
    lambda r, x, _y: f"{r.choice(('floor', 'ceil'))}(0.5*({x}))",
    lambda r, x, _y: f"abs({x} - {r.randrange(4)})",
    lambda r, x, y: f"abs({x} - {r.choice((1, 2))}*({y}))",
    lambda r, x, y: f"ite({x} >= {r.randrange(4)}, {x}, {y})",
    lambda r, x, y: f"ite({x} == {y}, {y}, {x} - {r.randrange(3)})",
    lambda r, x, _y: f"({x})//{r.choice((2, 3))}",
)


def nest(r: random.Random, depth: int) -> str:
    if not depth:
        return r.choice(("u0", "u1", "u0 + 1"))
    return r.choice(DEEPER)(r, nest(r, depth - 1), nest(r, r.randrange(depth)))


def story(seed: int) -> Grid:
    """One or two facts on nests; then their ends, which the points tell."""
    r = random.Random(seed)
    least = LEAST[seed % 2]
    grid = Grid(2, range(least, GREATEST + 1), least, GREATEST)
    nests = [nest(r, 1 + i % 3) for i in range(3)]
    for e in nests[: seed % 3]:
        grid.tell(f"{e} {r.choice(('<=', '>=', '!='))} {r.randrange(4)}")
        grid.refuse(f"{e} == {r.randrange(6)}")
    for e in ("u0", *nests):
        least = grid.least(e)
        grid.ask(f"{e} >= {least + c}" for c in (-4, 0, 1))
        grid.ask((f"{e} != {least - 1}", f"{e} <= {least - 1}", f"{e} == {least}"))
        half = f"{r.choice(('floor', 'trunc', 'round'))}(({e})/2)"
        grid.ask((f"{half} <= {e}", f"{half} < {e}"))
    return grid


def check() -> None:
    grids = list(map(story, range(STORIES)))
    asked = sum(grid.asked for grid in grids)
    assert asked >= 10 * STORIES
    assert sum(grid.answered for grid in grids) >= SHARE * asked


@pytest.fixture(autouse=True)
def _no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "enumerate_assignments", lambda _k, _b: None)


def test_answers_agree_with_all_points() -> None:
    check()


WRONG: dict[tuple[Any, str], Callable[[Any], Any]] = {
    (elimination, "rounded_ratio"): lambda right: lambda atom: (x := right(atom)) and x.shift(-1),
    (elimination, "_cases"): lambda right: lambda atom: right(atom)[:1],
    (elimination._Elimination, "choice"): lambda _right: (
        lambda self, of_e, c, atom, depth: self.lower(elimination._without(of_e, atom), c, depth)
    ),
    (propagation, "inverse_floordiv"): lambda right: lambda interval, d: right(interval, d - 1),
}


@pytest.mark.parametrize(("place", "name"), WRONG, ids=lambda x: getattr(x, "__name__", x))
def test_a_planted_error_is_found(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    monkeypatch.setattr(place, name, WRONG[place, name](getattr(place, name)))
    with pytest.raises((AssertionError, ConstraintError, RuntimeAssertError)):
        check()
