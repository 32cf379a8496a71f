"""The functions of `math` on symbolic numbers against Python, value by value and error by error."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest

from anyshape import ShapeEnv, SymFloat, SymInt, hint, sym_max, sym_min
from anyshape.expr import evaluate
from anyshape.symbolic import functions
from anyshape.symbolic.math_functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

INTS = (*range(-3, 6), 7, 31, 97, 1000, 2**53 - 1, 2**53 + 1, -(2**53) - 1)
FLOATS = (*(-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 2.5, 709.0, 710.0, 1e300), math.inf, -math.inf)
ONE = [name for name in FUNCTIONS if name not in ("pow", "isqrt")]
RAISES = (ArithmeticError, ValueError)


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def agree(ours: Callable[..., Any], python: Callable[..., Any], *operands: float) -> None:
    """Backed: the hint and its guards, or the error. Unbacked: the value, or an assert fails."""
    env = ShapeEnv()
    backed = [
        env.backed(x, size=False) if isinstance(x, int) else env.backed_float(x) for x in operands
    ]
    other = ShapeEnv()
    unbacked = [
        other.unbacked() if isinstance(x, int) else other.unbacked_float() for x in operands
    ]
    values = dict(zip(("u0", "u1"), (x for x in operands if isinstance(x, int)), strict=False))
    reals = dict(zip(("f0", "f1"), (x for x in operands if isinstance(x, float)), strict=False))
    made = ours(*unbacked)
    node = made.expr if type(made) is SymInt else made.value
    holds = all(evaluate(o.condition, {**values, **reals}) for o in other.runtime_asserts)
    try:
        expected = python(*operands)
    except RAISES as error:
        with pytest.raises(type(error), match=str(error).replace("(", ".").replace(")", ".")):
            ours(*backed)
        if holds:  # too large, which the run finds
            with pytest.raises(type(error)):
                evaluate(node, {**values, **reals})
    else:
        assert same(hint(ours(*backed)), expected), (operands, expected)
        if holds:
            assert same(evaluate(node, {**values, **reals}), expected), (operands, expected)
        else:
            assert python is math.pow  # a negative base
    seen = {**{f"s{name[1]}": x for name, x in values.items()}, **reals}
    assert all(evaluate(g.condition, seen) for g in env.guards)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name: str) -> None:
    for x in (*INTS, *FLOATS, math.nan):
        agree(FUNCTIONS[name], getattr(math, name), x)


def test_isqrt() -> None:
    for n in INTS:
        agree(FUNCTIONS["isqrt"], math.isqrt, n)
    with pytest.raises(TypeError):
        FUNCTIONS["isqrt"](ShapeEnv().unbacked_float())


@pytest.mark.parametrize("name", ["pow", "log"])
def test_functions_of_two_numbers(name: str) -> None:
    few = (-2, 0, 1, 2, 3, 10, -1.5, 0.0, 0.5, 2.0, 1e300, math.nan)
    for x, y in itertools.product(few, few):
        agree(FUNCTIONS[name], getattr(math, name), x, y)
    with pytest.raises(TypeError):
        FUNCTIONS["pow"](ShapeEnv().unbacked(), "2")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_numbers_are_pythons(name: str) -> None:
    operands = (4, 2) if name == "pow" else (4,)
    assert FUNCTIONS[name](*operands) == getattr(math, name)(*operands)
    assert FUNCTIONS["log"](8, 2) == 3.0


def test_what_is_asked_of_a_size_is_asked_of_integers() -> None:
    env = ShapeEnv()
    n = env.backed(7, source="n", min=0)
    FUNCTIONS["sqrt"]((n - 3) / 2)
    FUNCTIONS["log"](n - 2)
    FUNCTIONS["sqrt"]((n - 4) * 0.25)
    FUNCTIONS["exp"](-n / 10)
    FUNCTIONS["sin"](n)
    assert [g.text for g in env.guards] == ["4 <= n"]


@pytest.mark.parametrize("x", [-2, 0, 2, 3, 2**53 + 1])
@pytest.mark.parametrize("y", [-2.5, 0.0, 2.0, 2.5, math.inf])
def test_the_larger_of_an_integer_and_a_float(x: int, y: float) -> None:
    for ours, python, symbolic in (
        (functions.largest, max, sym_max),
        (functions.smallest, min, sym_min),
    ):
        for flipped in (False, True):
            env = ShapeEnv()
            plain = [y, x] if flipped else [x, y]
            u, f = env.unbacked(), env.unbacked_float()
            n = env.backed(x, size=False)
            made = ours([f, u] if flipped else [u, f])
            assert type(made) is SymFloat
            assert same(evaluate(made.value, {"u0": x, "f0": y}), python(plain))
            assert hint(ours([y, n] if flipped else [n, y])) == python(plain)
            double = symbolic([y, n] if flipped else [n, y])
            assert same(hint(double), float(python([float(v) for v in plain])))
            assert env.guards == []


def test_extremes_of_other_operands() -> None:
    env = ShapeEnv()
    n = env.backed(7)
    assert str(functions.largest([n, 3])) == "max(3, s0)"
    assert functions.largest([3, 4.5]) == 4.5
    assert functions.smallest([n]) is n
    assert functions.largest(["a", "b"]) == "b"
    assert str(sym_max(env.unbacked_float())) == "f0"
