"""A verdict does not depend on what was asked before.

An environment is told facts, asked all of its questions, told more facts and asked again. This is
repeated in 50 random orders of the questions, and every answer must be the same. Facts and
questions are made in the same order each time, so that only the order of asking differs.

    worlds    random expressions of all kinds over three symbols, see `tests.soundness.world`
    chains    relations between ten symbols; their questions need long eliminations
    long      lazy sums of over 32 terms, which are collected, or not, between the questions
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from anyshape.env import Env, Fact
from anyshape.env.ladder import question
from anyshape.env.ladder.question import FULL, Question
from anyshape.env.learning import learn as learning
from anyshape.env.learning.learn import learn
from anyshape.errors import ConstraintError, RuntimeAssertError
from anyshape.expr import floordiv, ge0, maximum, modulo, multiply, ne0
from tests.soundness.long_sum import Long
from tests.soundness.world import HUGE, World

if TYPE_CHECKING:
    from anyshape.env.knowledge.knowledge import Knowledge
    from anyshape.expr import Bool, Expr

ORDERS = 50


class Chain:
    """Relations between ten sizes, and questions about them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.env = Env()
        self.sizes = [self.env.unbacked(size=True) for _ in range(10)]

    def number(self) -> Expr:
        """A size, or a small expression of two."""
        x, y = self.rng.sample(self.sizes, 2)
        two = x.pool.const(2)
        return self.rng.choice(
            [
                x,
                x,
                x,
                x + y,
                maximum([x, y]),
                floordiv(x, two),
                floordiv(x, y.shift(1)),
                modulo(x, two.shift(1)),
                multiply(x, y),
                x.scale(2),
            ]
        )

    def relation(self) -> Bool:
        """A bound on the difference of two numbers."""
        return ge0((self.number() - self.number()).shift(self.rng.randint(-2, 3)))

    def tell(self) -> None:
        """Tell five facts; those that contradict others are refused."""
        for _ in range(5):
            with contextlib.suppress(ConstraintError):
                learn(self.env.knowledge, Fact(self.relation(), "check"))

    def questions(self) -> list[Bool]:
        """Thirty relations like the facts."""
        return [self.relation() for _ in range(30)]


class Random(World):
    """A world with the protocol of a chain."""

    def tell(self) -> None:  # type: ignore[override]
        """Tell two random facts that can hold."""
        for _ in range(2):
            claim = self.fact()
            left = self.possible(claim)
            if left:
                try:
                    super().tell(claim, left)
                except (ConstraintError, RuntimeAssertError):
                    self.told.pop()

    def questions(self) -> list[Bool]:
        """Questions about expressions and pairs of symbols, on both sides of the truth."""
        found: list[Bool] = []
        for _ in range(3):
            term = self.expression(3)
            claims = [self.relation(term), self.comparison(term, self.multiple(), "==")]
            if self.wild:
                claims.append(self.condition(2))
            found += [claim.condition for claim in claims]
            for one in (term, *self.subjects[-2:], *self.rng.sample(self.pairs(), 2)):
                values = [v for v in self.values(one.text) if v is not None and abs(v) < HUGE]
                if values:
                    low, high = min(values), max(values)
                    found += [ge0(one.expr.shift(-low)), ge0(one.expr.shift(-low - 1))]
                    found += [ge0((-one.expr).shift(high)), ne0(one.expr.shift(-high - 1))]
        return found


Story = Chain | Random | Long
Maker = Callable[[int, random.Random | None], Story]

MAKERS: dict[str, Maker] = {
    "chain": lambda seed, _: Chain(seed),
    "plain": lambda seed, _: Random(seed, 6),
    "wild": lambda seed, _: Random(seed, 6, True),
    "endless": lambda seed, _: Random(seed, 40, True, True),
    "long": Long,
}


def answers(story: Story, order: random.Random | None) -> list[bool | None]:
    """The answers by question, when the questions are asked in an order."""
    asked: list[Bool] = []
    given: list[bool | None] = []
    for _ in range(2):
        story.tell()
        asked += story.questions()
        numbers = list(range(len(asked)))
        if order is not None:
            order.shuffle(numbers)
        found = {}
        for i in numbers:
            if isinstance(story, Long):
                story.collect()
            found[i] = story.env.decide(asked[i])
        given += [found[i] for i in range(len(asked))]
    return given


def disagreeing(make: Maker, seeds: range, orders: int) -> list[int]:
    """The seeds for which two orders give two answers."""
    found = []
    for seed in seeds:
        straight = answers(make(seed, None), None)
        order = random.Random(seed)
        if any(answers(make(seed, order), order) != straight for _ in range(orders)):
            found.append(seed)
    return found


@pytest.mark.parametrize("name", MAKERS)
def test_the_order_of_questions_changes_no_answer(name: str) -> None:
    assert disagreeing(MAKERS[name], range(2), ORDERS) == []


@pytest.mark.parametrize("steps", [4, 12, 40])
def test_nor_does_it_where_budgets_run_out(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question, "BUDGET", steps)
    assert disagreeing(MAKERS["chain"], range(10), 5) == []


def test_a_budget_that_questions_share_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    left: dict[Knowledge, int] = {}
    make = Question.__init__

    def shared(self: Question, knowledge: Knowledge, effort: int = FULL, _: int = 0) -> None:
        make(self, knowledge, effort)
        self.steps = left.setdefault(knowledge, question.BUDGET)

    def spend(self: Question, steps: int) -> bool:
        self.steps -= steps
        left[self.knowledge] = self.steps
        return self.steps >= 0

    monkeypatch.setattr(Question, "__init__", shared)
    monkeypatch.setattr(Question, "spend", spend)
    assert disagreeing(MAKERS["chain"], range(4), 5) != []


def test_a_sum_that_is_long_until_it_is_collected_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_pending_and_wide(e: Expr, than: int) -> bool:
        return e.terms is None and e.width > than

    monkeypatch.setattr(question, "has_more_terms", is_pending_and_wide)
    monkeypatch.setattr(learning, "has_more_terms", is_pending_and_wide)
    assert disagreeing(Long, range(12, 13), 5) == [12]
