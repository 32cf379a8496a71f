"""The translation to z3 means what Python means."""

from __future__ import annotations

import importlib
import random
import sys
from typing import TYPE_CHECKING

import pytest

from anyshape.config import config
from anyshape.domain import INF, NINF, Congruence
from anyshape.env import Env
from anyshape.errors import UnsupportedError
from anyshape.expr import (
    Expr,
    Pool,
    conj,
    disj,
    eq0,
    floordiv,
    ge0,
    maximum,
    multiply,
    ne0,
    negate,
    parse,
    power,
    symbol,
)
from anyshape.expr.boolean import constant
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.constructor.product import EXPAND_LIMIT
from anyshape.expr.real import FLOAT, apply, real_const
from anyshape.expr.z3_bridge import Problem
from tests.soundness.world import UNDEFINED, World

if TYPE_CHECKING:
    from anyshape.expr import Bool

LIMIT = 1_000_000
OPAQUE = frozenset("&|^/") | {"**", "<<", ">>"}


def at(world: World, values: tuple[int, ...]) -> Problem:
    """The problem where the symbols have these values."""
    problem = Problem()
    for e, value in zip(world.symbols, values, strict=True):
        problem.add_range(e, value, value)
    return problem


@pytest.mark.parametrize("seed", range(60))
def test_a_term_has_the_value_that_python_computes(seed: int) -> None:
    world = World(seed, width=9, wild=seed % 2 == 0)
    term = world.expression(3)
    values = random.Random(seed).choice(world.live)
    problem = at(world, values)
    try:
        ((value,), defined) = world.compiled(term.text)([values]), True
    except UNDEFINED:
        value, defined = 0, False
    claim = eq0(term.expr.shift(-value))
    if defined:
        assert problem.satisfiable(claim, True, LIMIT) is True
        exact = not any(sign in term.text for sign in OPAQUE)
        if exact:
            assert problem.satisfiable(claim, False, LIMIT) is False
    elif "/" not in term.text.replace("//", ""):
        assert problem.satisfiable(claim, True, LIMIT) is False  # there is no such point
        assert problem.satisfiable(claim, False, LIMIT) is False


@pytest.mark.parametrize("x", [-7, -6, -1, 0, 1, 6, 7])
@pytest.mark.parametrize("y", [-3, -1, 1, 3])
def test_division_rounds_down_for_every_sign(x: int, y: int) -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    for divisor in (b, pool.const(y)):
        problem = Problem()
        problem.add_range(a, x, x)
        problem.add_range(b, y, y)
        wrong = ne0(floordiv(a, divisor).shift(-(x // y)))
        assert problem.satisfiable(wrong, True, LIMIT) is False


def test_a_division_by_zero_has_no_value() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    problem = Problem()
    problem.add(eq0(floordiv(a, b)))
    assert problem.satisfiable(eq0(b), True, LIMIT) is False


def test_what_is_added_restricts_the_models() -> None:
    pool = Pool()
    a, b = symbol(pool, "a"), symbol(pool, "b")
    problem = Problem()
    problem.add_range(a, 3, INF)
    problem.add_range(a, NINF, 9)
    problem.add_hole(a, 4)
    problem.add_congruence(a, Congruence(4, 0))
    problem.add_equality(b, a + a)
    problem.add_congruence(b - a - a, Congruence(0, 0))
    assert problem.satisfiable(ge0(b), True, LIMIT) is True
    assert problem.satisfiable(eq0(b.shift(-16)), False, LIMIT) is False


def relations(pool: Pool) -> tuple[Bool, Bool, Expr]:
    a = symbol(pool, "a")
    return ge0(a), ge0(-a), a


def test_connectives_and_constants() -> None:
    pool = Pool()
    above, below, a = relations(pool)
    problem = Problem()
    assert problem.satisfiable(conj(pool, [above, below, ne0(a)]), True, LIMIT) is False
    assert problem.satisfiable(disj(pool, [above, below]), False, LIMIT) is False
    assert problem.satisfiable(constant(pool, True), False, LIMIT) is False
    assert problem.satisfiable(constant(pool, False), True, LIMIT) is False


def test_a_comparison_of_reals_is_an_unknown_truth() -> None:
    pool = Pool()
    _, _, a = relations(pool)
    half = compare("<", apply("sqrt", apply(FLOAT, a)), real_const(pool, 0.5))
    problem = Problem()
    assert problem.satisfiable(half, True, LIMIT) is True
    assert problem.satisfiable(half, False, LIMIT) is True
    assert problem.satisfiable(conj(pool, [half, negate(half)]), True, LIMIT) is False
    problem.add(negate(half))
    assert problem.satisfiable(half, True, LIMIT) is False


def test_large_exponents_are_unknown_numbers() -> None:
    pool = Pool()
    _, _, a = relations(pool)
    problem = Problem()
    problem.add_range(a, 1, 1)
    assert problem.satisfiable(ne0(power(a, pool.const(8)).shift(-1)), True, LIMIT) is False
    assert problem.satisfiable(ne0(power(a, pool.const(9)).shift(-1)), True, LIMIT) is True


def test_a_group_is_what_it_groups() -> None:
    pool = Pool()
    names = [symbol(pool, f"x{i}") for i in range(12)]
    total = pool.zero
    for e in names:
        total = total + e
    product = multiply(multiply(total, total), total)
    assert len(names) ** 2 > EXPAND_LIMIT
    problem = Problem()
    for e in names:
        problem.add_range(e, 1, 1)
    assert problem.satisfiable(eq0(product.shift(-(12**3))), False, LIMIT) is False


def test_depth_is_no_matter() -> None:
    pool = Pool()
    a, b = symbol(pool, "a", 0, 1), symbol(pool, "b", 0, 1)
    e = a
    for _ in range(1500):
        e = maximum([e.scale(2).shift(-1), b])
    problem = Problem()
    problem.add_range(a, 0, 0)
    problem.add_range(b, 0, 0)
    assert problem.satisfiable(ge0(-e), False, 50 * LIMIT) is not True


def test_the_limit_stops_z3_and_is_not_a_matter_of_time() -> None:
    pool = Pool()
    hard = parse(pool, "a**3 + b**3 + c**3 == 33") if _symbols(pool) else None
    assert hard is not None
    answers = [Problem().satisfiable(hard, True, 20_000) for _ in range(2)]  # type: ignore[arg-type]
    assert answers == [None, None]


def test_solutions() -> None:
    pool = Pool()
    assert _symbols(pool)
    problem = Problem()
    problem.add(_condition(pool, "a*b == 35"))
    problem.add(_condition(pool, "a > b"))
    problem.add(_condition(pool, "b > 1"))
    assert problem.solution("ab", 50 * LIMIT) == {"a": 7, "b": 5}
    problem.add(_condition(pool, "a != 7"))
    assert problem.solution("ab", 50 * LIMIT) is False
    hard = Problem()
    hard.add(_condition(pool, "a**3 + b**3 + c**3 == 33"))
    assert hard.solution("abc", 20_000) is None


def _condition(pool: Pool, text: str) -> Bool:
    return parse(pool, text)  # type: ignore[return-value]  # the text of a condition


def _symbols(pool: Pool) -> bool:
    return all(symbol(pool, name) for name in "abc")


def test_without_z3_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "anyshape.expr.z3_bridge")
    monkeypatch.delitem(sys.modules, "anyshape.env.ladder.solver", raising=False)
    with pytest.raises(UnsupportedError, match=r"pip install anyshape\[z3\]"):
        importlib.import_module("anyshape.expr.z3_bridge")
    env = Env()
    a, b = env.unbacked(), env.unbacked()
    question = ge0(a - b)
    assert env.prove(question).answer is None
    with config.patch(solver="z3"), pytest.raises(UnsupportedError, match="z3 is not installed"):
        env.prove(question)
