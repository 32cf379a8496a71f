"""Rounded fractions as division of integers: the value never changes, at any size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env import Env
from anyshape.expr import Expr, evaluate
from anyshape.expr.real import FLOAT, RATIO, Real, apply, real_const
from anyshape.expr.rebuild import construct
from anyshape.expr.table.op import CEIL, FLOOR, FLOORDIV, ROUND, TRUNC
from anyshape.expr.traverse import atoms_below

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDINGS = {FLOOR: math.floor, CEIL: math.ceil, ROUND: round, TRUNC: math.trunc}
EXACT = 2**53


def of(op: str, *operands: Any) -> Callable[[Expr], Real]:
    """A real over x: numbers are constants, "x" is float(x), functions are parts."""

    def build(x: Expr) -> Real:
        def part(operand: Any) -> Real:
            if operand == "x":
                return apply(FLOAT, x)
            return operand(x) if callable(operand) else real_const(x.pool, operand)

        return apply(op, *map(part, operands))

    return build


def ratio(d: int) -> Callable[[Expr], Real]:
    return lambda x: apply(RATIO, x, x.pool.const(d))


FRACTIONS = {
    "x": lambda x: apply(FLOAT, x),
    **{f"x / {d}": ratio(d) for d in (2, 3, 4, 5, 6, 7, 10, 12)},
    **{f"x * {c}": of("mul", "x", c) for c in (0.5, 0.25, 0.75, 2.0, 1.5, -0.5, -1.25)},
    "0.5 * x": of("mul", 0.5, "x"),
    **{f"x / {d}": of("div", "x", d) for d in (2.0, 3.0, 0.5, 0.75, 1.5, 10.0)},
    "x / 2 + 0.5": of("add", ratio(2), 0.5),
    "1.0 - x * 0.25": of("sub", 1.0, of("mul", "x", 0.25)),
    "-(x / 4)": of("neg", ratio(4)),
    "(x * 0.5) / 3.0": of("div", of("mul", "x", 0.5), 3.0),
    "(x / 2 + x * 0.25) * 0.5": of("mul", of("add", ratio(2), of("mul", "x", 0.25)), 0.5),
}
OPAQUE = {
    "x * 0.1": of("mul", "x", 0.1),
    "sqrt": of("sqrt", "x"),
    "x * x": of("mul", "x", "x"),
    "x / -3": ratio(-3),
    "x / -3.0": of("div", "x", -3.0),
    "x / 0.0": of("div", "x", 0.0),
    "x / 0.1": of("div", "x", 0.1),
    "3.0 / x": of("div", 3.0, "x"),
    "1.0 / x of a fraction": of("div", of("mul", "x", 0.1), 3.0),
    "x * inf": of("mul", "x", math.inf),
    "x * 1e-30": of("mul", "x", 1e-30),
    "x / -2.0": of("div", "x", -2.0),
    "(x * 0.1) * 0.5": of("mul", of("mul", "x", 0.1), 0.5),
    "x / 2**60 / 2": of("div", ratio(2**60), 2.0),
    "x / 2**70": ratio(2**70),
}


def simplified(env: Env, name: str, rounding: Any, lo: int, hi: int) -> tuple[Expr, Expr]:
    x = env.unbacked(min=lo, max=hi)
    made = construct(rounding, {**FRACTIONS, **OPAQUE}[name](x))
    return made, env.simplify(made)


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda op: op.name)
def test_the_value_stays(name: str, rounding: Any) -> None:
    for lo, hi in ((0, 40), (-40, 0), (-40, 40)):
        env = Env()
        made, simple = simplified(env, name, rounding, lo, hi)
        if rounding is not TRUNC or name == "x" or (lo == 0 and name in ("x / 3", "x * 0.75")):
            assert not [a for a in atoms_below(simple) if a.op is rounding]
        for value in range(lo, hi + 1):
            found = evaluate(simple, {"u0": value})
            assert found == evaluate(made, {"u0": value}), value
            assert env.range_of(made).contains(found)


@pytest.mark.parametrize("name", OPAQUE)
@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda op: op.name)
def test_what_is_no_exact_fraction_stays(name: str, rounding: Any) -> None:
    made, simple = simplified(Env(), name, rounding, 1, 40)
    assert made.is_const or simple.is_const or simple is made


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda op: op.name)
def test_next_to_where_floats_stop_being_exact(name: str, rounding: Any) -> None:
    for limit in (EXACT // 4, EXACT // 3, EXACT // 2, EXACT, 2 * EXACT, 2**63):
        for lo, hi in ((0, limit - 1), (0, limit), (limit - 8, limit + 8)):
            made, simple = simplified(Env(), name, rounding, lo, hi)
            for value in {*range(max(lo, hi - 9), hi + 1), lo, (lo + hi) // 2, lo + (hi - lo) // 3}:
                assert evaluate(simple, {"u0": value}) == evaluate(made, {"u0": value}), value


def test_sizes_without_a_limit_stay_floats() -> None:
    env = Env()
    n = env.backed(9)
    made = construct(TRUNC, FRACTIONS["x * 0.5"](n))
    assert env.simplify(made) is made
    bounded = construct(TRUNC, FRACTIONS["x * 0.5"](env.backed(9, max=10**6)))
    assert [a.op for a in atoms_below(env.simplify(bounded))][1:] == [FLOORDIV]


@pytest.mark.parametrize("name", ["x / 2", "x * 0.5", "0.5 * x", "x / 3.0", "x * 0.25"])
def test_a_rounded_part_is_at_most_the_whole(name: str) -> None:
    env = Env()
    n = env.backed(9, min=0)
    for rounding in ROUNDINGS:
        part = construct(rounding, FRACTIONS[name](n))
        assert env.at_least(n - part, 0) is True


@pytest.mark.parametrize("name", ["x * 0.75", "x * 2.0", "x / 0.5", "x * -0.5", "x / 2 + 0.5"])
def test_other_parts_may_be_more_than_the_whole(name: str) -> None:
    env = Env()
    n = env.backed(9, min=0)
    part = construct(CEIL, FRACTIONS[name](n))
    assert env.at_least(n - part, 0) is not True or name == "x * -0.5"
    signed = env.unbacked()
    assert env.at_least(signed - construct(CEIL, FRACTIONS["x * 0.5"](signed)), 0) is None
