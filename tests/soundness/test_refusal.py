"""A refused fact leaves no trace, and more facts never turn an answer around.

Random stories, told twice. For refusals, one environment is also told facts that cannot hold: each
is refused, and ranges, guards, asserts, simplifications and answers are as before, and as in the
other environment. For monotony, each prefix of the facts has its own environment.
"""

from __future__ import annotations

import itertools

import pytest

from anyshape.env import Fact
from anyshape.env.knowledge.knowledge import Knowledge
from anyshape.env.learning.learn import learn
from anyshape.errors import ConstraintError, RuntimeAssertError
from anyshape.expr import Expr, show
from tests.soundness.world import Claim, Term, World

FACTS = 5
REFUSALS = (ConstraintError, RuntimeAssertError)


def state(world: World, terms: list[Term], claims: list[Claim]) -> list[object]:
    """Everything that can be asked of an environment."""
    env = world.env
    return [
        [env.range_of(e) for e in (*world.symbols, *(t.expr for t in terms))],
        [str(o) for o in (*env.guards, *env.runtime_asserts)],
        [env.simplify(t.expr) for t in terms],
        [env.prove(c.condition).answer for c in claims],
        {name: show(e) for name, e in env.replacements.items()},
    ]


def impossible(world: World) -> Claim | None:
    """A claim that no assignment satisfies, though it has a value for some."""
    for _ in range(30):
        claim = world.fact()
        if world.truths(claim) == {False}:
            return claim
    return None


def check_refusals(seed: int) -> None:
    """One story; the facts that cannot hold must leave no trace."""
    world = World(seed, width=5, wild=True)
    terms: list[Term] = []
    claims: list[Claim] = []
    for _ in range(5):
        terms.append(world.expression(2))
        claims += [world.relation(terms[-1]), world.condition(2)]
        wrong = impossible(world)
        before = state(world, terms, claims)
        if wrong is not None:
            try:
                if seed % 2:
                    world.env.assume(wrong.condition)
                else:  # without asking first whether it is known to be false
                    learn(world.env.knowledge, Fact(wrong.condition, "check"))
            except REFUSALS:
                assert state(world, terms, claims) == before
            else:
                return  # a contradiction that was not seen: from here on anything may follow
        right = world.fact()
        left = world.possible(right)
        if left:
            world.tell(right, left)


@pytest.mark.parametrize("seed", range(40))
def test_a_refused_fact_leaves_everything_as_it_was(seed: int) -> None:
    check_refusals(seed)


def test_a_trace_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a node keeps the bounds that it got from a refused fact."""
    right = Knowledge.roll_back

    def wrong(self: Knowledge) -> None:
        self.journal = [entry for entry in self.journal if type(entry[1]) is not Expr]
        right(self)

    monkeypatch.setattr(Knowledge, "roll_back", wrong)
    with pytest.raises(AssertionError):
        list(map(check_refusals, range(40)))


def replay(seed: int, *, facts: int, refusals: bool) -> list[bool | None]:
    """The answers of an environment that is told the first facts of a story, in the same words.

    What is asked depends on the assignments alone, so it is the same however much was told.
    """
    world = World(seed, width=5, wild=True)
    for i in range(FACTS):
        claim = world.fact()
        left = world.possible(claim)
        if left and i < facts:
            world.env.assume(claim.condition)
        if left:
            world.keep(left)
        wrong = impossible(world)
        if refusals and wrong is not None and world.env.prove(wrong.condition).answer is False:
            with pytest.raises(REFUSALS):
                world.env.assume(wrong.condition)
    claims = [world.relation(world.expression(2)) for _ in range(12)]
    return [world.env.prove(c.condition).answer if world.truths(c) else None for c in claims]


@pytest.mark.parametrize("seed", range(25))
def test_an_environment_with_refusals_answers_as_one_without(seed: int) -> None:
    with_refusals = replay(seed, facts=FACTS, refusals=True)
    assert with_refusals == replay(seed, facts=FACTS, refusals=False)


def test_more_facts_never_turn_an_answer_around() -> None:
    kept = lost = 0
    for seed in range(40):
        answers = [replay(seed, facts=n, refusals=False) for n in range(FACTS + 1)]
        for less, more in itertools.pairwise(answers):
            for before, after in zip(less, more, strict=True):
                if before is not None:
                    assert after in (before, None)
                    kept += after is not None
                    lost += after is None
    assert kept > 500
    assert lost <= 0.01 * kept
