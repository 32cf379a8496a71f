"""Verdicts of the engine where no enumeration can judge: symbols without ends, z3 as the judge.

Each verdict is put to the oracle as "the facts, and the opposite". A model that Python confirms is
a wrong verdict. What z3 leaves open is counted and capped.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from anyshape.domain import Interval
from anyshape.errors import ConstraintError
from tests.soundness.oracle import Oracle, UndecidedError
from tests.soundness.world import ARITHMETIC, Claim, World

SEEDS = 60


@dataclass
class Score:
    """How many verdicts were confirmed or left open by z3, and one that is wrong."""

    confirmed: int = 0
    open: int = 0
    wrong: str = ""


def judge(world: World, claim: Claim, score: Score) -> None:
    """One verdict before the oracle."""
    answer = world.env.prove(claim.condition).answer
    if answer is None:
        return
    statement = claim.text if answer else f"({claim.text} == False)"
    try:
        model = Oracle(world.names).counterexample(world.told, statement)
    except UndecidedError:
        score.open += 1
        return
    if model is None:
        score.confirmed += 1
    else:
        score.wrong = f"seed {world.seed}: {world.told} |- {statement}, but {model}"


def questions(world: World) -> list[Claim]:
    """Random relations that the bounds do not decide by themselves."""
    terms = [world.expression(2) for _ in range(3)]
    asked = [world.relation(t) for t in terms for _ in range(2)]
    asked += [world.comparison(terms[0], t, s) for t in terms[1:] for s in (">=", "!=")]
    return asked


def run(seed: int, score: Score) -> None:
    """One world: some facts, then verdicts."""
    world = World(seed, width=8, endless=True, ops=ARITHMETIC)
    for _ in range(3):
        claim = world.fact()
        left = world.possible(claim)
        if left:
            world.tell(claim, left)
    for claim in questions(world):
        judge(world, claim, score)


def test_verdicts_without_ends_agree_with_z3() -> None:
    score = Score()
    for seed in range(SEEDS):
        run(seed, score)
        assert not score.wrong, score.wrong
    assert score.confirmed >= 150
    assert score.open <= 0.1 * score.confirmed


def test_a_wrong_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a product that forgets that two negative factors make a positive."""
    right = Interval.mul

    def wrong(self: Interval, other: Interval) -> Interval:
        lo, hi = right(self, other)
        return Interval(lo, 0) if hi > 0 and (self.lo < 0 and other.lo < 0) else Interval(lo, hi)

    monkeypatch.setattr(Interval, "mul", wrong)
    score = Score()
    for seed in range(4 * SEEDS):
        try:
            run(seed, score)
        except ConstraintError:  # a possible fact was refused
            score.wrong = f"seed {seed}"
        if score.wrong:
            return
    pytest.fail("the planted bound was not found")
