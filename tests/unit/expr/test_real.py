"""Reals: interning, folding, and spans that hold every value."""

import itertools
import math
import random

import pytest

from anyshape.domain import INF, NINF
from anyshape.expr import Pool, evaluate, symbol
from anyshape.expr.real import (
    ANY,
    FLOAT,
    RATIO,
    Real,
    Span,
    apply,
    real_const,
    real_symbol,
    span_of,
)
from anyshape.expr.table.op import OPS
from anyshape.expr.table.op_function import LARGEST_EXPONENT
from anyshape.expr.table.op_real import LARGEST

FLOATS = (NINF, -1e308, -2.5, -1.0, 0.0, 0.3, 1.0, 7.0, 1e308, INF)
POINTS = (*FLOATS, -0.0, -1e-320, 5e-324, 0.5, 3.0, -2.0)
ENDS = (NINF, -2.5, 0.0, 1.0, 1e308, INF)


def assert_in_span(op: str, span: Span, args: tuple[float, ...]) -> None:
    try:
        value = OPS[op].value(*args)
    except (ZeroDivisionError, OverflowError, ValueError):
        return
    if math.isnan(value):
        assert span.nan, f"{op}{args} is NaN"
    else:
        assert span.lo <= value <= span.hi, f"{op}{args} is {value}, not in {span}"


def assert_spans(op: str, arity: int) -> None:
    """All spans between the ends, at all points in them."""
    spans = [Span(lo, hi, False) for lo in ENDS for hi in ENDS if lo <= hi]
    for operands in itertools.product(spans, repeat=arity):
        found = span_of(OPS[op], operands)
        inside = [[p for p in POINTS if s.lo <= p <= s.hi] for s in operands]
        for args in itertools.product(*inside):
            assert_in_span(op, found, args)


@pytest.mark.parametrize(
    "op",
    ["add", "sub", "mul", "div", "pow", "real_floordiv", "real_mod", "real_max", "real_min"],
)
def test_spans_of_two_operands_hold_every_value(op: str) -> None:
    assert_spans(op, 2)


@pytest.mark.parametrize(
    "op", ["neg", "abs", "sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan"]
)
def test_spans_of_one_operand_hold_every_value(op: str) -> None:
    assert_spans(op, 1)


@pytest.mark.parametrize("digits", [-310, -2, -1, 0, 1, 2, 400, 500])
def test_spans_of_rounded_floats_hold_every_value(digits: int) -> None:
    for lo, hi in itertools.combinations_with_replacement(ENDS, 2):
        found = span_of(OPS["round_to"], [Span(lo, hi, False), Span(digits, digits, False)])
        for x in (p for p in POINTS if lo <= p <= hi):
            assert_in_span("round_to", found, (x, digits))
    too_large = span_of(OPS["round_to"], [Span(0.0, 1.7e308, False), Span(-308, -308, False)])
    assert too_large == Span(NINF, INF, False)
    open_digits = span_of(OPS["round_to"], [Span(0.0, 1.0, False), Span(0.0, 1.0, False)])
    assert open_digits == Span(NINF, INF, False)


@pytest.mark.parametrize("op", ["real_max", "real_min"])
def test_spans_of_integers_that_no_float_holds(op: str) -> None:
    big = 2**53
    for lo, hi in itertools.combinations_with_replacement(range(big - 1, big + 6), 2):
        x = symbol(Pool(), "x", lo, hi)
        span = apply(op, x, real_const(x.pool, 2.5 if op == "real_max" else 1e300)).span
        assert span.lo <= lo
        assert span.hi >= hi


def test_the_largest_exponent_is_the_last_one() -> None:
    assert math.isfinite(math.exp(LARGEST_EXPONENT))
    with pytest.raises(OverflowError):
        math.exp(math.nextafter(LARGEST_EXPONENT, INF))


def test_the_functions_of_math_are_as_exact_as_their_spans() -> None:
    """The result at a point between two ends lies between the widened results at the ends."""
    rng = random.Random(1)
    for _ in range(2000):
        lo = math.exp(rng.uniform(-20, 20))
        hi = math.nextafter(lo, INF)
        for op in ("log", "log2", "log10", "exp", "sqrt"):
            if op == "exp" and hi > 700:
                continue
            for low, high in ((lo, hi), (lo, lo * 1.5)):
                span = span_of(OPS[op], [Span(low, high, False)])
                for x in (low, high, (low + high) / 2):
                    assert_in_span(op, span, (x,))
        base, exponent = lo, rng.uniform(-5, 5)
        ends = Span(base, base * 1.1, False), Span(exponent, exponent + 0.1, False)
        span = span_of(OPS["pow"], ends)
        for args in itertools.product((base, base * 1.05), (exponent, exponent + 0.05)):
            assert_in_span("pow", span, args)


def test_control_a_span_without_its_corners_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anyshape.expr.table.op_real._corners", lambda _op, a, _b: a)
    with pytest.raises(AssertionError, match="add"):
        assert_spans("add", 2)


@pytest.mark.parametrize("seed", range(30))
def test_a_ratio_of_integers_of_any_size_is_in_its_span(seed: int) -> None:
    """The exact quotient of ends that no float holds, rounded once, not three times."""
    rng = random.Random(seed)
    for _ in range(50):
        pool = Pool()
        x, y = (rng.randint(1, 1 << rng.choice((3, 54, 54, 60, 120))) for _ in range(2))
        x, y = rng.choice((x, -x)), rng.choice((y, -y))
        ratio = apply(RATIO, symbol(pool, "x", x, x), symbol(pool, "y", y, y))
        assert ratio.span.lo <= x / y <= ratio.span.hi
        assert not ratio.span.nan


@pytest.mark.parametrize(
    ("x", "y", "span"),
    [
        ((1, 10), (2, 4), Span(0.25, 5.0, False)),
        ((-10, 10), (2, 4), Span(-5.0, 5.0, False)),
        ((0, INF), (1, INF), Span(0.0, LARGEST, False)),
        ((NINF, INF), (1, INF), Span(-LARGEST, LARGEST, False)),
        ((1, 10), (0, 4), Span(-LARGEST, LARGEST, False)),
        ((6, INF), (2, 3), Span(2.0, LARGEST, False)),
        ((6, 8), (2, INF), Span(0.0, 4.0, False)),
    ],
)
def test_spans_of_ratios(x: tuple[int, int], y: tuple[int, int], span: Span) -> None:
    pool = Pool()
    assert apply(RATIO, symbol(pool, "x", *x), symbol(pool, "y", *y)).span == span


@pytest.mark.parametrize(
    ("lo", "hi", "span"),
    [(0, 7, Span(0.0, 7.0, False)), (NINF, 3, Span(-LARGEST, 3.0, False))],
)
def test_span_of_a_conversion(lo: int, hi: int, span: Span) -> None:
    assert apply(FLOAT, symbol(Pool(), "x", lo, hi)).span == span


def test_an_integer_beyond_floats_has_no_conversion() -> None:
    x = symbol(Pool(), "x", 0, 5)
    huge = x.scale(1 << 200)
    huge.lo, huge.hi = -(10**400), 10**400
    assert apply(FLOAT, huge).span == Span(-LARGEST, LARGEST, False)


def test_a_nan_is_passed_on() -> None:
    for op, arity in (("add", 2), ("neg", 1), ("sqrt", 1)):
        assert span_of(OPS[op], [Span(0.0, 1.0, False)] * (arity - 1) + [ANY]) == ANY


def test_reals_are_interned() -> None:
    pool = Pool()
    f = real_symbol(pool, "f", None)
    assert apply("add", f, f) is apply("add", f, f)
    assert apply("sub", f, f) is not apply("add", f, f)
    assert real_const(pool, 0.0) is not real_const(pool, -0.0)
    assert real_const(pool, math.nan) is real_const(pool, math.nan)
    assert real_const(pool, math.nan).span == ANY
    assert pool.by_name["f"] is f
    assert repr(f) == "f"


def test_constants_fold_as_python_computes() -> None:
    pool = Pool()
    two, three = real_const(pool, 2.0), real_const(pool, 3.0)
    assert apply("div", two, three) is real_const(pool, 2.0 / 3.0)
    assert apply(RATIO, pool.const(7), pool.const(2)) is real_const(pool, 3.5)
    assert apply("sqrt", two) is real_const(pool, math.sqrt(2.0))
    assert apply(FLOAT, pool.const(5)) is real_const(pool, 5.0)


def test_a_constant_hidden_in_a_sum_folds_too() -> None:
    pool = Pool()
    u = symbol(pool, "u")
    assert apply(FLOAT, u.shift(55) - u) is real_const(pool, 55.0)


@pytest.mark.parametrize("op", ["div", "sqrt"])
def test_what_python_refuses_is_kept(op: str) -> None:
    pool = Pool()
    args: list[Real] = [real_const(pool, -1.0), real_const(pool, 0.0)][: 2 if op == "div" else 1]
    kept = apply(op, *args)
    assert kept.op is OPS[op]
    assert kept.hint is None
    with pytest.raises((ZeroDivisionError, ValueError)):
        evaluate(kept, {})


def test_a_ratio_by_one_is_a_conversion() -> None:
    pool = Pool()
    x = symbol(pool, "x", hint=4)
    assert apply(RATIO, x, pool.const(1)) is apply(FLOAT, x)
    assert apply(FLOAT, x).hint == 4.0
