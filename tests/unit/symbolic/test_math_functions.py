"""The functions of `math` on symbolic numbers against Python, value by value and error by error."""

from __future__ import annotations

import itertools
import math
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from anyshape import DataDependentError, ShapeEnv, SymInt, hint, sym_max, sym_min
from anyshape.expr import evaluate
from anyshape.expr.table.op_math import VALUES
from anyshape.symbolic import functions
from anyshape.symbolic.math_functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

INTS = (*range(-3, 6), 7, 31, 97, 1000, 2**53 - 1, 2**53 + 1, -(2**53) - 1)
FLOATS = (*(-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 2.5, 709.0, 710.0, 1e300), math.inf, -math.inf)
SPECIAL = {
    *("pow", "isqrt", "dist", "fsum", "sumprod", "frexp", "modf", "isclose", "isnan", "isinf"),
    *("isfinite", "perm", "comb", "fma", "hypot", "gcd", "lcm", "factorial", "ldexp"),
    *("atan2", "copysign", "fmod", "nextafter", "remainder"),
}
ONE = [name for name in FUNCTIONS if name not in SPECIAL]
TWO = ("pow", "log", "atan2", "copysign", "fmod", "hypot", "nextafter", "remainder")
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
    values = {f"u{i}": x for i, x in enumerate(x for x in operands if isinstance(x, int))}
    reals = {f"f{i}": x for i, x in enumerate(x for x in operands if isinstance(x, float))}
    made = ours(*unbacked)
    node = made.expr if type(made) is SymInt else made.value
    holds = all(evaluate(o.condition, {**values, **reals}) for o in other.runtime_asserts)
    try:
        expected = python(*operands)
    except RAISES as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
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


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name: str) -> None:
    few = (-2, 0, 1, 2, 3, 10, -1.5, 0.0, 0.5, 2.0, 1e300, math.nan)
    for x, y in itertools.product(few, few):
        agree(FUNCTIONS[name], getattr(math, name), x, y)
    with pytest.raises(TypeError):
        FUNCTIONS["pow"](ShapeEnv().unbacked(), "2")


PLAIN: dict[str, Any] = {
    **dict.fromkeys(("dist", "sumprod"), ((1, 2), (3, 4))),
    **dict.fromkeys(("comb", "gcd", "isclose", "lcm", "ldexp", "perm"), (6, 2)),
    "fma": (1, 2, 3),
    "fsum": ((1, 2.5),),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_plain_numbers_are_pythons(name: str) -> None:
    operands = PLAIN.get(name, (4,) if name in ONE or name in SPECIAL - {*TWO} else (4, 2))
    if name in ("acos", "asin", "atanh"):
        operands = (0.5,)
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
            with pytest.raises(DataDependentError):
                ours([f, u] if flipped else [u, f])
            found = ours([y, n] if flipped else [n, y])
            assert hint(found) == python(plain)
            assert (type(found) is float) is (type(python(plain)) is float)
            asked = len(env.guards)
            double = symbolic([y, n] if flipped else [n, y])
            assert same(hint(double), float(python([float(v) for v in plain])))
            assert len(env.guards) == asked


def test_extremes_of_other_operands() -> None:
    env = ShapeEnv()
    n = env.backed(7)
    assert str(functions.largest([n, 3])) == "max(3, s0)"
    assert functions.largest([3, 4.5]) == 4.5
    assert functions.smallest([n]) is n
    assert functions.largest(["a", "b"]) == "b"
    assert str(sym_max(env.unbacked_float())) == "f0"


NATURALS = (-1, 0, 1, 2, 3, 4, 6, 7)


@pytest.mark.parametrize("name", ["gcd", "lcm", "comb", "perm"])
def test_functions_of_two_integers(name: str) -> None:
    for x, y in itertools.product(NATURALS, NATURALS):
        agree(FUNCTIONS[name], getattr(math, name), x, y)
    n = ShapeEnv().backed(3)
    with pytest.raises(TypeError):
        FUNCTIONS[name](n, 2.5)


def test_functions_of_naturals() -> None:
    for n in NATURALS:
        agree(FUNCTIONS["factorial"], math.factorial, n)
        agree(FUNCTIONS["perm"], math.perm, n)
        agree(FUNCTIONS["ldexp"], math.ldexp, 0.75, n)
        agree(lambda n: FUNCTIONS["comb"](n, 2), lambda n: math.comb(n, 2), n)
    with pytest.raises(TypeError):
        FUNCTIONS["comb"](ShapeEnv().backed(3))


@pytest.mark.parametrize("name", ["factorial", "comb", "perm", "lcm"])
def test_integers_of_absurd_size_are_refused(name: str) -> None:
    large = 1 << 70_000
    with pytest.raises(OverflowError):
        VALUES[name](*((large,) if name == "factorial" else (large, large // 2)))


def test_several_operands() -> None:
    for x, y, z in itertools.product((-2, 0, 3), (0.5, math.inf), (7, 12)):
        agree(FUNCTIONS["hypot"], math.hypot, x, y, z)
        agree(lambda *xs: FUNCTIONS["fsum"](xs), lambda *xs: math.fsum(xs), float(x), y, -y)
        agree(lambda a, b: FUNCTIONS["gcd"](a, b, 6), lambda a, b: math.gcd(a, b, 6), x, z)
        agree(
            lambda a, b: FUNCTIONS["dist"]((a, 1), (b, 4.5)),
            lambda a, b: math.dist((a, 1), (b, 4.5)),
            x,
            y,
        )
    with pytest.raises(ValueError, match="same number of dimensions"):
        FUNCTIONS["dist"]((ShapeEnv().backed(3),), (1, 2))


def test_sums_of_products() -> None:
    plain = getattr(math, "sumprod", None)  # of Python 3.12
    assert (plain is None) is ("sumprod" not in FUNCTIONS)
    for x, y in itertools.product((-2, 0, 2**53 + 1), (3, 0.1, 1e300)) if plain else ():
        agree(
            lambda a, b: FUNCTIONS["sumprod"]((a, 3), (b, 5)),
            lambda a, b: plain((a, 3), (b, 5)),  # type: ignore[misc]
            x,
            y,
        )


@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_pairs(name: str) -> None:
    for x in (*INTS, *FLOATS[:-2]):
        for part in (0, 1):
            agree(lambda x: FUNCTIONS[name](x)[part], lambda x: getattr(math, name)(x)[part], x)  # noqa: B023


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_tests_of_one_number(name: str) -> None:
    for x in (*FLOATS, math.nan):
        env = ShapeEnv()
        assert bool(FUNCTIONS[name](env.backed_float(x))) is getattr(math, name)(x)
    assert bool(FUNCTIONS[name](ShapeEnv().backed(3))) is getattr(math, name)(3)


def test_is_close() -> None:
    numbers = (0.0, 1.0, 1.0 + 1e-10, 1.1, -1.0, 1e300, math.inf, -math.inf, math.nan)
    options: tuple[dict[str, float], ...] = ({}, {"rel_tol": 0.2}, {"abs_tol": 0.15})
    for x, y in itertools.product(numbers, numbers):
        for named in options:
            f = ShapeEnv().backed_float(x)
            assert bool(FUNCTIONS["isclose"](f, y, **named)) is math.isclose(x, y, **named)
    f = ShapeEnv().backed_float(1.0)
    with pytest.raises(ValueError, match="non-negative"):
        FUNCTIONS["isclose"](f, 1.0, rel_tol=-1.0)
    assert FUNCTIONS["isclose"](f, 1.0, rel_tol=f) is True
    with pytest.raises(TypeError):
        FUNCTIONS["isclose"](f, "1")


def test_whole_numbers() -> None:
    for x in (*FLOATS, math.nan, 2.0**60):
        assert bool(ShapeEnv().backed_float(x).is_integer()) is x.is_integer()


def test_options_specialize() -> None:
    f = ShapeEnv().backed_float(1.0)
    if sys.version_info >= (3, 12):
        assert FUNCTIONS["nextafter"](f, 2.0, steps=3) == math.nextafter(1.0, 2.0, steps=3)


def test_a_domain_that_ranges_prove_is_not_guarded() -> None:
    env = ShapeEnv()
    n = env.backed(7, source="n")
    for name in ("log1p", "factorial", "lgamma", "acosh"):
        FUNCTIONS[name](n)
    FUNCTIONS["fmod"](n, 3)
    FUNCTIONS["comb"](n, 2)
    assert [g.text for g in env.guards] == ["2 <= n"]
    FUNCTIONS["asin"](n / 8)
    assert [g.text for g in env.guards] == ["2 <= n", "in_domain_asin(n / 8)"]
