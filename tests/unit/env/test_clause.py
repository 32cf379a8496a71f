"""Disjunctions whose parts are refuted one by one, against all points; see `grid.py`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env.knowledge import clause
from anyshape.env.ladder import question
from anyshape.env.learning import learn
from anyshape.errors import ConstraintError, RuntimeAssertError
from anyshape.expr import boolean
from tests.unit.env.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable

STORIES = 40


@pytest.fixture(autouse=True)
def _no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "enumerate_assignments", lambda _k, _b: None)


def ranges(seed: int) -> Grid:
    """Alternatives that each bound one of four symbols; then bounds that refute some."""
    r = random.Random(seed)
    ends = (0, 10, 20, 30)
    grid = Grid(4, (0, 5, 15, 25, 35), 0, 10**6)

    def bound() -> str:
        return f"u{r.randrange(4)} {r.choice(('<=', '>'))} {r.choice(ends)}"

    for _ in range(12):
        grid.tell(" or ".join(bound() for _ in range(r.choice((2, 2, 3)))))
    for _ in range(3):
        grid.tell(bound())
        grid.refuse(bound())
    grid.ask(f"u{i} <= {end}" for i in range(4) for end in ends)
    return grid


def values(seed: int) -> Grid:
    """One symbol is one of some values, and so is a sum; then some values are excluded."""
    r = random.Random(seed)
    grid = Grid(2, range(-1, 9), -1, 8)

    def one_of(e: str) -> str:
        return " or ".join(f"{e} == {v}" for v in r.sample(range(8), r.choice((2, 3, 4))))

    grid.tell(one_of("u0"))
    grid.tell(one_of("u0 + u1"))
    grid.tell(f"({one_of('u1')}) or {one_of('u0')}")
    for _ in range(4):
        e = r.choice(("u0", "u1", "u0 + u1", "u0 - u1"))
        grid.tell(f"{e} {r.choice(('!=', '<=', '>=', '!='))} {r.randrange(8)}")
        grid.refuse(f"{e} == {r.randrange(8)}")
    grid.ask(
        f"{e} {sign} {v}"
        for e in ("u0", "u1", "u0 + u1")
        for sign in ("<=", "==")
        for v in range(9)
    )
    return grid


def symbols(seed: int) -> Grid:
    """One symbol equals one of the others, or exceeds one; then it does not equal some of them."""
    r = random.Random(seed)
    grid = Grid(4, range(4), 0, 3)
    others = ["u1", "u2", "u3"]
    grid.tell(" or ".join(f"u0 == {v}" for v in others))
    grid.tell(" or ".join(f"u0 >= {v} + 1" for v in r.sample(others, 2)))
    for v in r.sample(others, 2):
        grid.tell(f"u0 {r.choice(('!=', '<=', '>='))} {v}")
    grid.tell(f"{r.choice(others)} == {r.randrange(4)}")
    grid.ask(f"u0 {sign} {v}" for sign in ("==", "<=", ">=", "!=") for v in (*others, "1", "2"))
    return grid


STORY: dict[Callable[[int], Grid], float] = {  # with the share that must be answered
    ranges: 0.9,
    values: 0.75,
    symbols: 0.85,
}


def check(tell: Callable[[int], Grid], share: float) -> None:
    grids = list(map(tell, range(STORIES)))
    asked = sum(grid.asked for grid in grids)
    assert asked >= 4 * STORIES
    assert sum(grid.answered for grid in grids) >= share * asked


@pytest.mark.parametrize("tell", STORY, ids=lambda tell: tell.__name__)
def test_answers_agree_with_all_points(tell: Callable[[int], Grid]) -> None:
    check(tell, STORY[tell])


def _hull_of_lows(k: Any, parts: Any) -> Any:
    """The greatest end of the first part alone."""
    hull = clause.hull_of(k, parts)
    return hull and (*hull[:2], hull[1])


def _forgets_the_last(k: Any, b: Any, left: Any, fact: Any) -> None:
    """One alternative that may hold is taken for refuted."""
    clause.open_clause(k, b, left[:-1], fact)


def _all_hold(k: Any, b: Any, fact: Any) -> None:
    """Every alternative is learnt."""
    for part in b.args:
        learn._learn(k, part, fact)


def _wakes_nobody(_k: Any, _atoms: Any) -> None:
    """No alternative is looked at again."""


@pytest.mark.parametrize(
    ("name", "wrong", "tell"),
    [
        ("hull_of", _hull_of_lows, values),
        ("open_clause", _forgets_the_last, ranges),
        ("open_clause", _forgets_the_last, values),
        ("open_clause", _forgets_the_last, symbols),
        ("_clause", _all_hold, ranges),
        ("wake", _wakes_nobody, ranges),
    ],
)
def test_a_planted_error_is_found(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any, tell: Callable[[int], Grid]
) -> None:
    monkeypatch.setattr(learn, name, wrong)
    with pytest.raises((AssertionError, ConstraintError, RuntimeAssertError)):
        check(tell, STORY[tell])


def test_a_part_that_a_fact_denies_word_for_word_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nobody waits for its atoms: it waits for its negation."""
    monkeypatch.setattr(learn, "wake", _wakes_nobody)
    grid = Grid(3, range(3), 0, 2)
    grid.tell("u0*u1 >= 3 or u2 >= 2")
    grid.tell("u0*u1 <= 2")
    assert grid.env.prove(grid.condition("u2 >= 2")[0]).answer is True
    assert boolean.OR not in {b.op for b in grid.env.knowledge.clauses}
