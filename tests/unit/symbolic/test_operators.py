"""Every operator against Python, over all small values and all kinds of operands.

Unbacked: the expression is built once and evaluated at every value; where Python raises, a recorded
runtime assert must fail, and where the asserts hold, the value and its type must be Python's.
Backed: every value is a hint; the result's hint, or the exception, must be Python's.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import pytest

from anyshape import ShapeEnv, SymBool, SymFloat, SymInt, hint
from anyshape.expr import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

INTS = range(-3, 5)
FLOATS = (-1.5, -1.0, 0.0, 0.5, 2.0)
KIND = {SymInt: int, SymFloat: float, SymBool: bool}
RAISES = (ZeroDivisionError, ValueError, OverflowError)

ARITHMETIC = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "/": operator.truediv,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BINARY = {
    **ARITHMETIC,
    **COMPARISONS,
    "divmod[0]": lambda x, y: divmod(x, y)[0],
    "divmod[1]": lambda x, y: divmod(x, y)[1],
}
UNARY = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": abs,
    "invert": operator.invert,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "round to 0 digits": lambda x: round(x, 0),
    "round to 2 digits": lambda x: round(x, 2),
    "round to -1 digits": lambda x: round(x, -1),
    "conjugate": lambda x: x.conjugate(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
}
DIVISIONS = ("/", "//", "%", "divmod[0]", "divmod[1]")
INTEGERS_ONLY = ("<<", ">>", "&", "|", "^")
WHOLE = {
    "numerator": lambda x: x.numerator,
    "denominator": lambda x: x.denominator,
    "bit_length": lambda x: x.bit_length(),
    "bit_count": lambda x: x.bit_count(),
    "pow modulo 5": lambda x: pow(x, 2, 5),
    "pow modulo -5": lambda x: pow(x, 3, -5),
}


def value_of(x: Any, values: dict[str, float]) -> Any:
    """The value of a symbolic or plain result, of the type that Python would give."""
    if type(x) is SymInt:
        return evaluate(x.expr, values)
    if type(x) is SymBool:
        return evaluate(x.condition, values)
    return evaluate(x.value, values) if type(x) is SymFloat else x


def same(ours: Any, python: Any) -> bool:
    return type(ours) is type(python) and (ours == python or (ours != ours and python != python))


def holds(env: ShapeEnv, values: dict[str, float]) -> bool:
    return all(evaluate(o.condition, values) for o in (*env.guards, *env.runtime_asserts))


def compare(env: ShapeEnv, made: Any, python: Callable[[], Any], values: dict[str, float]) -> None:
    """One evaluation of an unbacked result against Python's."""
    try:
        expected = python()
    except RAISES:
        assert not holds(env, values), f"Python raises at {values}, and no assert fails"
        return
    if not holds(env, values):
        # A negative exponent: Python goes over to floats. A negative base: to complex numbers.
        assert isinstance(expected, float | complex)
        return
    found = value_of(made, values)
    assert same(found, expected), f"{made} is {found!r} at {values}, not {expected!r}"


# ---------------------------------------------------------------------- unbacked


@pytest.mark.parametrize("sign", BINARY)
def test_two_unbacked_integers(sign: str) -> None:
    apply = BINARY[sign]
    env = ShapeEnv()
    u, v = env.unbacked(), env.unbacked()
    made = apply(u, v)
    assert type(made) in KIND
    for a, b in itertools.product(INTS, INTS):
        compare(env, made, lambda a=a, b=b: apply(a, b), {"u0": a, "u1": b})


@pytest.mark.parametrize("sign", BINARY)
@pytest.mark.parametrize("c", [*INTS, True, False])
def test_an_unbacked_integer_and_a_constant(sign: str, c: int) -> None:
    for left in (True, False):
        env = ShapeEnv()
        u = env.unbacked()
        apply = BINARY[sign] if left else lambda x, y: BINARY[sign](y, x)
        try:
            made = apply(u, c)
        except (ZeroDivisionError, ValueError) as error:
            with pytest.raises(type(error)):  # for every value, so while tracing already
                [apply(a, c) for a in INTS if a]
            continue
        for a in INTS:
            compare(env, made, lambda a=a, apply=apply: apply(a, c), {"u0": a})


@pytest.mark.parametrize("sign", BINARY)
@pytest.mark.parametrize("c", FLOATS)
def test_an_unbacked_integer_and_a_float(sign: str, c: float) -> None:
    for left in (True, False):
        env = ShapeEnv()
        u = env.unbacked()
        apply = BINARY[sign] if left else lambda x, y: BINARY[sign](y, x)
        if sign in INTEGERS_ONLY:
            with pytest.raises(TypeError):
                apply(u, c)
            continue
        if left and sign in DIVISIONS and not c:
            with pytest.raises(ZeroDivisionError):
                apply(u, c)
            continue
        made = apply(u, c)
        for a in INTS:
            compare(env, made, lambda a=a, apply=apply: apply(a, c), {"u0": a})


@pytest.mark.parametrize("name", [*UNARY, *WHOLE])
def test_one_unbacked_integer(name: str) -> None:
    apply = {**UNARY, **WHOLE}[name]
    env = ShapeEnv()
    made = apply(env.unbacked())
    for a in INTS:
        compare(env, made, lambda a=a: apply(a), {"u0": a})


@pytest.mark.parametrize("sign", ["+", "-", "*", *DIVISIONS, *COMPARISONS])
def test_two_unbacked_floats(sign: str) -> None:
    apply = BINARY[sign]
    env = ShapeEnv()
    x, y = env.unbacked_float(), env.unbacked_float()
    made = apply(x, y)
    for a, b in itertools.product((*FLOATS, math.inf, math.nan), repeat=2):
        compare(env, made, lambda a=a, b=b, apply=apply: apply(a, b), {"f0": a, "f1": b})


@pytest.mark.parametrize("sign", ["+", "-", "*", *DIVISIONS, *COMPARISONS])
def test_floats_and_integers(sign: str) -> None:
    for left in (True, False):
        apply = BINARY[sign] if left else lambda x, y: BINARY[sign](y, x)
        env = ShapeEnv()
        made = apply(env.unbacked_float(), env.unbacked())
        for a, b in itertools.product(FLOATS, INTS):
            compare(env, made, lambda a=a, b=b, apply=apply: apply(a, b), {"f0": a, "u0": b})


@pytest.mark.parametrize("name", [name for name in UNARY if name != "invert"])
def test_one_unbacked_float(name: str) -> None:
    env = ShapeEnv()
    made = UNARY[name](env.unbacked_float())
    for a in (*FLOATS, 2.5, 3.5, -2.5, 1e15):
        compare(env, made, lambda a=a: UNARY[name](a), {"f0": a})


# ---------------------------------------------------------------------- backed


def check_backed(apply: Callable[..., Any], *operands: float) -> None:
    env = ShapeEnv()
    symbols = [
        env.backed(x, size=False) if isinstance(x, int) else env.backed_float(x) for x in operands
    ]
    try:
        expected = apply(*operands)
    except RAISES as error:
        with pytest.raises(type(error)):
            apply(*symbols)
        return
    made = apply(*symbols)
    found = hint(made)
    assert same(found, expected), f"{made} has the hint {found!r}, not {expected!r}"
    for guard in env.guards:
        assert guard.condition.hint, guard


@pytest.mark.parametrize("sign", BINARY)
def test_two_backed_integers(sign: str) -> None:
    for a, b in itertools.product(INTS, INTS):
        check_backed(BINARY[sign], a, b)


@pytest.mark.parametrize("name", [*UNARY, *WHOLE])
def test_one_backed_integer(name: str) -> None:
    for a in INTS:
        check_backed({**UNARY, **WHOLE}[name], a)


@pytest.mark.parametrize("sign", ["+", "-", "*", *DIVISIONS, *COMPARISONS])
def test_two_backed_floats(sign: str) -> None:
    for a, b in itertools.product(FLOATS, FLOATS):
        check_backed(BINARY[sign], a, b)
    for a, b in itertools.product(FLOATS, INTS):
        check_backed(BINARY[sign], a, b)
        check_backed(BINARY[sign], b, a)


# ---------------------------------------------------------------------- truth values as numbers


@pytest.mark.parametrize("sign", BINARY)
@pytest.mark.parametrize("truth", [True, False])
def test_an_integer_and_a_truth_value(sign: str, truth: bool) -> None:
    """A condition used as a number is asked for: backed, it is 0 or 1 and guarded."""
    apply = BINARY[sign]
    for a in INTS:
        for left in (True, False):
            env = ShapeEnv()
            n = env.backed(a, size=False)
            s = env.backed(5)
            condition = (s > 4) if truth else (s > 6)
            operands, plain = ((n, condition), (a, truth)) if left else ((condition, n), (truth, a))
            try:
                expected = apply(*plain)
            except RAISES as error:
                with pytest.raises(type(error)):
                    apply(*operands)
                continue
            found = hint(apply(*operands))
            assert same(found, expected), (operands, found, expected)
            assert ("5 <= s1" if truth else "s1 <= 6") in [g.text for g in env.guards]


@pytest.mark.parametrize("sign", [s for s in BINARY if s not in ("&", "|", "^", "==", "!=")])
def test_truth_values_and_plain_numbers(sign: str) -> None:
    apply = BINARY[sign]
    for other, truth, left in itertools.product((-2, 0, 1, 3, True), (True, False), (True, False)):
        env = ShapeEnv()
        s = env.backed(5)
        condition = (s > 4) if truth else (s > 6)
        operands = (condition, other) if left else (other, condition)
        plain = (truth, other) if left else (other, truth)
        try:
            expected = apply(*plain)
        except RAISES as error:
            with pytest.raises(type(error)):
                apply(*operands)
            continue
        assert same(hint(apply(*operands)), expected)


def test_a_planted_wrong_operator_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: C's division, which rounds toward zero, is not Python's."""
    monkeypatch.setattr(SymInt, "__floordiv__", lambda x, y: math.trunc(x / y))
    with pytest.raises(AssertionError, match="not -2"):
        test_two_unbacked_integers("//")
    with pytest.raises(AssertionError, match="has the hint"):
        test_two_backed_integers("//")
