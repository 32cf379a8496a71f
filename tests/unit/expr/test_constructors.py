"""Every constructor over all small operands, against Python."""

import math
import operator
from collections.abc import Callable

import pytest

from anyshape.domain import Interval
from anyshape.expr import (
    Bool,
    Expr,
    absolute,
    choose,
    conj,
    disj,
    floordiv,
    ge0,
    maximum,
    minimum,
    modulo,
    multiply,
    negate,
    power,
)
from anyshape.expr.atom import make_atom
from anyshape.expr.boolean import eq0, ne0
from anyshape.expr.constructor import division as division_module
from anyshape.expr.constructor.bitwise import bit_and, bit_or, bit_xor, left_shift, right_shift
from anyshape.expr.constructor.comparison import compare
from anyshape.expr.constructor.rounding import ceil, floor, nearest, trunc
from anyshape.expr.real import FLOAT, RATIO, apply
from anyshape.expr.table.op_integer import BIT_COUNT, BIT_LENGTH, INT_ROUND, ISQRT, POWER_MOD
from tests.unit.expr.exhaustive import Case, assert_bounds, assert_hint, assert_value

NATURAL = range(5)


def const(x: Expr, k: int) -> Expr:
    return x.pool.const(k)


def by_constant(build: Callable[[Expr, Expr], Expr], d: int) -> Callable[[Expr], Expr]:
    return lambda x: build(x, const(x, d))


UNARY = {
    "neg": Case(1, operator.neg, operator.neg),
    "shift": Case(1, lambda x: x.shift(3), lambda x: x + 3),
    "scale 2": Case(1, lambda x: x.scale(2), lambda x: 2 * x),
    "scale -3": Case(1, lambda x: x.scale(-3), lambda x: -3 * x),
    "scale 0": Case(1, lambda x: x.scale(0), lambda _: 0),
    "abs": Case(1, absolute, abs),
    "square": Case(1, lambda x: power(x, const(x, 2)), lambda x: x**2),
    "cube of a sum": Case(1, lambda x: power(x.shift(1), const(x, 3)), lambda x: (x + 1) ** 3),
    "power 0": Case(1, lambda x: power(x, const(x, 0)), lambda _: 1),
    "not": Case(1, lambda x: bit_xor(x, const(x, -1)), lambda x: ~x),
    "halves of -x": Case(
        1, lambda x: floordiv(-floordiv(x, const(x, 2)), const(x, 3)), lambda x: -(x // 2) // 3
    ),
    "2**x": Case(1, lambda x: power(const(x, 2), x), lambda x: 2**x, NATURAL),
    "1**x": Case(1, lambda x: power(const(x, 1), x), lambda _: 1, NATURAL),
    **{
        f"// {d}": Case(1, by_constant(floordiv, d), lambda x, d=d: x // d)
        for d in (1, 2, 3, 4, -1, -2, -3)
    },
    **{
        f"% {d}": Case(1, by_constant(modulo, d), lambda x, d=d: x % d)
        for d in (1, 2, 3, 4, -1, -2, -3)
    },
    **{
        f"({k}*x + {c}) // {d}": Case(
            1,
            lambda x, k=k, c=c, d=d: floordiv(x.scale(k).shift(c), const(x, d)),
            lambda x, k=k, c=c, d=d: (k * x + c) // d,
        )
        for k in (1, 2, 3, 5, -1, -2)
        for c in (0, 1, 5)
        for d in (2, 4, 6)
    },
    "isqrt": Case(1, lambda x: make_atom(ISQRT, x), math.isqrt),
    "bit_length": Case(1, lambda x: make_atom(BIT_LENGTH, x), int.bit_length),
    "bit_count": Case(1, lambda x: make_atom(BIT_COUNT, x), int.bit_count),
    "round": Case(
        1, lambda x: make_atom(INT_ROUND, x.scale(4), const(x, -1)), lambda x: round(4 * x, -1)
    ),
    **{f"& {k}": Case(1, by_constant(bit_and, k), lambda x, k=k: x & k) for k in (0, -1, 3, -4)},
    **{f"| {k}": Case(1, by_constant(bit_or, k), lambda x, k=k: x | k) for k in (0, -1, 3, -4)},
}
BINARY = {
    "+": Case(2, operator.add, operator.add),
    "-": Case(2, operator.sub, operator.sub),
    "*": Case(2, multiply, operator.mul),
    "(x + 1) * (y - 2)": Case(
        2, lambda x, y: multiply(x.shift(1), y.shift(-2)), lambda x, y: (x + 1) * (y - 2)
    ),
    "//": Case(2, floordiv, operator.floordiv),
    "%": Case(2, modulo, operator.mod),
    "2x // -2y": Case(2, lambda x, y: floordiv(x.scale(2), y.scale(-2)), lambda x, y: x // -y),
    "max": Case(2, lambda x, y: maximum([x, y]), max),
    "min": Case(2, lambda x, y: minimum([x, y]), min),
    "max(x, |y|)": Case(2, lambda x, y: maximum([x, absolute(y)]), lambda x, y: max(x, abs(y))),
    "max(2x, 3, min(2y, x))": Case(
        2,
        lambda x, y: maximum([x.scale(2), const(x, 3), minimum([y.scale(2), x])]),
        lambda x, y: max(2 * x, 3, min(2 * y, x)),
    ),
    "&": Case(2, bit_and, operator.and_),
    "|": Case(2, bit_or, operator.or_),
    "^": Case(2, bit_xor, operator.xor),
    "**": Case(2, power, operator.pow, NATURAL),
    "<<": Case(2, left_shift, operator.lshift, NATURAL),
    ">>": Case(2, right_shift, operator.rshift, NATURAL),
    "floor /": Case(2, lambda x, y: floor(apply(RATIO, x, y)), lambda x, y: math.floor(x / y)),
    "ceil /": Case(2, lambda x, y: ceil(apply(RATIO, x, y)), lambda x, y: math.ceil(x / y)),
    "round /": Case(2, lambda x, y: nearest(apply(RATIO, x, y)), lambda x, y: round(x / y)),
    "trunc /": Case(2, lambda x, y: trunc(apply(RATIO, x, y)), lambda x, y: math.trunc(x / y)),
    "round to y": Case(
        2, lambda x, y: make_atom(INT_ROUND, x.scale(7), y), lambda x, y: round(7 * x, y)
    ),
    "ite": Case(2, lambda x, y: choose(ge0(x - y), x, y), lambda x, y: x if x >= y else y),
}
TERNARY = {
    "pow": Case(3, lambda *a: make_atom(POWER_MOD, *a), pow, NATURAL),
    "pow of a negative modulus": Case(
        3, lambda x, y, z: make_atom(POWER_MOD, x, y, -z), lambda x, y, z: pow(x, y, -z), NATURAL
    ),
    "ite": Case(3, lambda x, y, z: choose(ge0(x), y, z), lambda x, y, z: y if x >= 0 else z),
    "max": Case(3, lambda *a: maximum(a), max),
    "min of max": Case(
        3, lambda x, y, z: minimum([maximum([x, y]), z]), lambda x, y, z: min(max(x, y), z)
    ),
    "x*y // z": Case(
        3, lambda x, y, z: floordiv(multiply(x, y), z), lambda x, y, z: x * y // z, range(-3, 4)
    ),
}
INTEGERS = {**UNARY, **{f"{k} (2)": v for k, v in BINARY.items()}, **TERNARY}


def both(x: Expr, y: Expr) -> Bool:
    return conj(x.pool, [ge0(x), ge0(y)])


def either(x: Expr, y: Expr) -> Bool:
    return disj(x.pool, [ge0(x), eq0(y)])


def below_half(x: Expr, y: Expr) -> Bool:
    return compare("<", apply(FLOAT, x), apply(RATIO, y, const(y, 2)))


CONDITIONS = {
    **{
        sign: Case(2, lambda x, y, s=sign: compare(s, x, y), meaning)
        for sign, meaning in (
            ("==", operator.eq),
            ("!=", operator.ne),
            ("<", operator.lt),
            ("<=", operator.le),
            (">", operator.gt),
            (">=", operator.ge),
        )
    },
    ">= 0": Case(1, ge0, lambda x: x >= 0),
    "== 0": Case(1, eq0, lambda x: x == 0),
    "!= 0": Case(1, ne0, lambda x: x != 0),
    "and": Case(2, both, lambda x, y: x >= 0 and y >= 0),
    "or": Case(2, either, lambda x, y: x >= 0 or y == 0),
    "not and": Case(2, lambda x, y: negate(both(x, y)), lambda x, y: not (x >= 0 and y >= 0)),
    "not or": Case(2, lambda x, y: negate(either(x, y)), lambda x, y: not (x >= 0 or y == 0)),
    "reals": Case(2, below_half, lambda x, y: float(x) < y / 2),
    "not reals": Case(2, lambda x, y: negate(below_half(x, y)), lambda x, y: not x < y / 2),
}


@pytest.mark.parametrize("name", [*INTEGERS, *CONDITIONS])
def test_value_is_pythons(name: str) -> None:
    assert_value({**INTEGERS, **CONDITIONS}[name])


@pytest.mark.parametrize("name", [*INTEGERS, *CONDITIONS])
def test_hint_is_the_value_at_the_hints(name: str) -> None:
    assert_hint({**INTEGERS, **CONDITIONS}[name])


@pytest.mark.parametrize("name", INTEGERS)
def test_bounds_hold_every_value(name: str) -> None:
    assert_bounds(INTEGERS[name])


# ---------------------------------------------------------------------- negative controls


def truncating(x: Expr, d: int) -> Expr:
    """A division that rounds towards zero where both are negative: planted."""
    return -division_module.floordiv_const(x, -d) if d < 0 else division_module.floordiv_const(x, d)


def without_a_factor(x: Expr, y: Expr) -> Bool:
    """`x*y == 0` with the factor `y` cancelled, although it may be zero: planted."""
    return eq0(x) if multiply(x, y).width == 1 else eq0(multiply(x, y))


def test_control_a_wrong_division_is_caught() -> None:
    with pytest.raises(AssertionError, match="at"):
        assert_value(Case(1, lambda x: truncating(x, -3), lambda x: x // -3))


def test_control_a_cancelled_factor_is_caught() -> None:
    with pytest.raises(AssertionError, match="at"):
        assert_value(Case(2, without_a_factor, lambda x, y: x * y == 0))


def test_control_wrong_bounds_of_a_product_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_corners(left: Interval, right: Interval) -> Interval:
        ends = left.lo * right.lo, left.hi * right.hi
        return Interval(min(ends), max(ends))

    monkeypatch.setattr(Interval, "mul", two_corners)
    with pytest.raises(AssertionError, match="not in"):
        assert_bounds(BINARY["*"])


def test_control_a_wrong_hint_is_caught() -> None:
    with pytest.raises(AssertionError, match="at"):
        assert_hint(Case(1, lambda x: x.shift(1), lambda x: x + 2))
