"""z3 as the last rung: what it adds, that it agrees with the other rungs, and where it stops."""

from __future__ import annotations

import itertools

import pytest

from anyshape.config import config
from anyshape.env import Env
from anyshape.env.ladder.solver import FACTS, NODES, ask
from anyshape.expr import Bool, Expr, eq0, ge0, parse
from tests.soundness import fuzz
from tests.soundness.fuzz import Tally
from tests.soundness.world import ARITHMETIC, World


def story(*facts: str, symbols: int = 4) -> Env:
    env = Env()
    for _ in range(symbols):
        env.unbacked()
    for fact in facts:
        env.assume(condition(env, fact))
    return env


def condition(env: Env, text: str) -> Bool:
    made = parse(env.pool, text)
    assert isinstance(made, Bool)
    return made


BEYOND_THE_LADDER = [
    ((), "2*u0*u1 <= u0**2 + u1**2", True),
    ((), "0 <= u0 * (u0 + 1)", True),
    ((), "u0**2 == 5", False),
    ((), "u0**2 == 4*u1 + 2", False),
    (("0 <= u0", "0 <= u1", "u0*u1 >= 30", "u0 + u1 <= 11"), "u0 == 7", False),
    (("u0**2 + u1**2 <= 2", "u0*u1 >= 1"), "u0 == u1", True),
    (("u0 >= 1", "u1 >= 1", "u0*u1 == u2*u2", "u2 > u1"), "u0 > u1", True),
    (("u0 < u1 or u0 < u2", "u1 < u3 + 1", "u2 < u3"), "u0 < u3", True),
    (("u1 >= 1",), "(u0 // u1) * u1 + u0 % u1 == u0", True),
]


@pytest.mark.parametrize(("facts", "question", "answer"), BEYOND_THE_LADDER, ids=str)
def test_z3_decides_what_it_can(facts: tuple[str, ...], question: str, answer: bool) -> None:
    env = story(*facts)
    with config.patch(solver="z3"):
        assert env.prove(condition(env, question)).answer is answer


def test_z3_adds_to_the_ladder() -> None:
    open_without = [
        row for row in BEYOND_THE_LADDER if story(*row[0]).prove(_in(*row[:2])[1]).answer is None
    ]
    assert len(open_without) >= 3
    env, question = _in(("u0 >= u1 or u0 >= u2", "u1 >= 5", "u2 >= 5"), "u0 >= 5")
    assert env.prove(question).answer is None
    with config.patch(solver="z3"):  # the unknown of the ladder is not the last word
        verdict = env.prove(question)
    assert verdict.answer is True
    assert verdict.reason == "the solver proved it"
    assert env.prove(question).answer is True  # and is remembered


def _in(facts: tuple[str, ...], question: str) -> tuple[Env, Bool]:
    env = story(*facts)
    return env, condition(env, question)


def test_an_unknown_of_z3_is_asked_once_per_version() -> None:
    env, question = _in((), "u0 <= u1")
    with config.patch(solver="z3"):
        assert env.prove(question).answer is None
        version = env.knowledge.version
        assert env.prove(question).answer is None
        assert env.knowledge.version == version
        env.assume(condition(env, "u0 < u1"))
        assert env.prove(question).answer is True


@pytest.mark.parametrize("seed", range(12))
def test_z3_agrees_with_the_ladder(seed: int) -> None:
    world = World(seed, width=6, endless=seed % 2 == 0, ops=ARITHMETIC)
    for _ in range(3):
        claim = world.fact()
        left = world.possible(claim)
        if left:
            world.tell(claim, left)
    unknown = decided = 0
    for term in [world.expression(2) for _ in range(3)]:
        for claim in [world.relation(term) for _ in range(3)]:
            answer = world.env.prove(claim.condition).answer
            of_z3 = ask(world.env.knowledge, claim.condition)
            if answer is not None and world.truths(claim):
                assert of_z3 in (answer, None)
                decided += 1
                unknown += of_z3 is None
    assert unknown <= 1 + decided // 5


def test_z3_is_never_wrong_by_enumeration() -> None:
    tally = Tally()
    with config.patch(solver="z3"):
        for seed in range(3):
            fuzz.run(seed, tally, width=3, wild=seed == 2)
    assert tally.unsound == []
    assert tally.share >= 0.99


# ---------------------------------------------------------------------- what it is told


def test_facts_are_connected_over_other_facts() -> None:
    env = story("u0 < u1", "u1 < u2", "u2 < u3")
    assert ask(env.knowledge, condition(env, "u0 < u3")) is True
    assert ask(env.knowledge, condition(env, "u3 <= u0")) is False
    assert ask(env.knowledge, condition(env, "u0 + 4 <= u3")) is None


def test_a_replaced_symbol_is_known_by_its_replacement() -> None:
    env = story("u0 == 2*u1 + u2", "u1 >= 3", "u2 >= 0")
    assert "u2" in env.replacements or "u0" in env.replacements
    assert ask(env.knowledge, condition(env, "u0 >= 6")) is True


def test_holes_and_congruences_are_known() -> None:
    env = story("u0 % 4 == 3", "u0 != 7", "u1 != 0", "u0 - u2 != 5", "(u2 - u3) % 6 == 1")
    assert ask(env.knowledge, condition(env, "u0 == 7 or u0 % 2 == 0")) is False
    assert ask(env.knowledge, condition(env, "u1 == 0")) is False
    assert ask(env.knowledge, condition(env, "u0 == u2 + 5")) is False
    assert ask(env.knowledge, condition(env, "u3 - u2 == 2")) is False


def test_a_long_sum_is_known_by_its_direction() -> None:
    env = Env()
    total = env.pool.zero
    for _ in range(20):
        total = total + env.unbacked()
    env.assume(ge0(total.shift(-5)))
    assert ask(env.knowledge, ge0(total.shift(-5))) is True
    assert ask(env.knowledge, ge0(total.shift(-4))) is True
    assert ask(env.knowledge, ge0((-total).shift(4))) is False
    assert ask(env.knowledge, ge0(total.shift(-6))) is None


def test_contradictory_facts_prove_nothing() -> None:
    env = story("u0**2 == 4*u1 + 2")
    assert ask(env.knowledge, condition(env, "u0 <= u1")) is None


def test_a_division_by_zero_is_excluded() -> None:
    env = story("u0 >= 0", "u1 >= 0")
    assert ask(env.knowledge, condition(env, "u0 // u1 <= u0")) is True


def test_there_is_a_limit_on_facts_and_nodes() -> None:
    env = Env()
    chain: list[Expr] = [env.unbacked() for _ in range(2 * FACTS)]
    for a, b in itertools.pairwise(chain):
        env.assume(ge0(b - a))
    near, far = ge0(chain[9] - chain[0]), ge0(chain[-1] - chain[0])
    assert ask(env.knowledge, near) is True
    assert ask(env.knowledge, far) is None
    total = env.pool.zero
    for _ in range(NODES + 1):
        total = total + env.unbacked()
    assert ask(env.knowledge, ge0(total)) is None


def test_the_answer_is_the_same_in_every_environment() -> None:
    rows = [("2*u0*u1 <= u0**2 + u1**2", True), ("u0**3 + u1**3 == u2**3 + 1", None)]
    for text, answer in rows:
        for _ in range(2):
            env, question = _in((), text)
            assert ask(env.knowledge, question) is answer


def test_equality_of_products_needs_no_search() -> None:
    env = story("u0 == u1", "u2 == u3")
    e = parse(env.pool, "u0*u2 - u1*u3")
    assert isinstance(e, Expr)
    assert ask(env.knowledge, eq0(e)) is True
