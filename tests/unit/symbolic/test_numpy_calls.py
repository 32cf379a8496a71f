"""NumPy's scalars and functions on symbolic numbers, against NumPy on plain ones."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

from anyshape import ShapeEnv, SymFloat, SymInt, hint
from anyshape.errors import UnsupportedError
from anyshape.symbolic.numpy_scalar import NumpyBool, NumpyInt

KEPT = (SymInt, SymFloat, NumpyInt, NumpyBool)
SYMBOLIC = {
    "int64 * n": lambda n: np.int64(3) * n,
    "n * int64": lambda n: n * np.int64(3),
    "int64 - n": lambda n: np.int64(3) - n,
    "int64 // n": lambda n: np.int64(30) // n,
    "n % int64": lambda n: n % np.int64(4),
    "n / int64": lambda n: n / np.int64(4),
    "float64 * n": lambda n: np.float64(0.3) * n,
    "n + float64": lambda n: n + np.float64(0.3),
    "n < int64": lambda n: n < np.int64(9),
    "float64 <= n": lambda n: np.float64(6.5) <= n,
    "n ** int64": lambda n: n ** np.int64(2),
    "sqrt": np.sqrt,
    "floor": lambda n: np.floor(n / 2),
    "floor of negative": lambda n: np.floor(-n / 2),
    "ceil": lambda n: np.ceil(n / 2),
    "ceil of negative": lambda n: np.ceil(-n / 20),
    "prod": lambda n: np.prod((n, 3)),
    "sum": lambda n: np.sum([n, n, 1]),
    "abs": lambda n: np.abs(n - 9),
    "square": np.square,
    "negative": np.negative,
    "add": lambda n: np.add(n, 2.5),
    "float32 * n": lambda n: np.float32(0.7) * n,
    "n * float32": lambda n: n * np.float32(0.7),
    "float16 * n": lambda n: np.float16(0.7) * n,
    "n - float16": lambda n: n - np.float16(0.1),
    "n / float32": lambda n: n / np.float32(3),
    "float32 / n": lambda n: np.float32(3) / (n - 1),
    "n // float32": lambda n: n // np.float32(0.3),
    "n % float32": lambda n: n % np.float32(0.3),
    "n ** float32": lambda n: n ** np.float32(0.3),
    "float32 ** n": lambda n: np.float32(1.01) ** n,
    "negative of float32": lambda n: -(n * np.float32(0.1)),
    "abs of float16": lambda n: abs(n * np.float16(-0.1)),
    "round of float32": lambda n: round(n * np.float32(0.1), 2),
    "float32 and a float": lambda n: (n * np.float32(0.1) + 0.1) * 1.1,
    "float32 and float64": lambda n: (n * np.float32(0.1)) * np.float64(0.3),
    "float64 and float32": lambda n: (n * np.float64(0.1)) * np.float32(0.1),
    "a float and float32": lambda n: (n * 0.1) * np.float32(0.1),
    "float16 and float32": lambda n: (n * np.float16(0.1)) * np.float32(0.1),
    "int64 and float32": lambda n: np.int64(3) * np.float32(0.1) * n,
    "item of float32": lambda n: (n * np.float32(0.1)).item() + 0.1,
    "sum of float32": lambda n: sum([n * np.float32(0.1), 0.3, n]),
    "divmod of float32": lambda n: divmod(n * np.float32(0.7), 3)[1],
    "log": np.log,
    "log2": lambda n: np.log2(n * np.float32(1)),
    "log of what may be negative": lambda n: np.log1p(n - 3),
    "exp": lambda n: np.exp(-n / 10),
    "sin": np.sin,
    "maximum": lambda n: np.maximum(n, 3),
    "minimum of floats": lambda n: np.minimum(n * 0.5, np.float32(3.3)),
    "root of float32": lambda n: np.sqrt(n * np.float32(0.1)),
    "root of a negative number": lambda n: np.sqrt(np.abs(n - 9)),
    "power": lambda n: np.power(n, 0.3),
    "power of float32": lambda n: np.power(n, np.float32(0.3)),
    "power of a float32": lambda n: (n * np.float32(0.1)) ** 0.3,
    "round": lambda n: np.round(n / 3, 2),
    "round of an int": lambda n: np.round(n, -1),
    "clip": lambda n: np.clip(n, 3, 8),
    "floor of float32": lambda n: np.floor(n * np.float32(0.7)),
    "trunc": lambda n: np.trunc(n * 0.7),
    "rint": lambda n: np.rint(n / 2),
    "hypot": lambda n: np.hypot(n, np.float32(3)),
    "bits": lambda n: np.bitwise_and(n, 5),
}
SPECIALIZED = {
    "array * n": lambda n: np.ones(3) * n,
    "zeros": np.zeros,
    "power": lambda n: np.float64(2.0) ** np.float32(n),
    "mean": np.mean,
    "reduce": lambda n: np.add.reduce(np.array([1, 2])) + np.multiply(n, 2, dtype=np.int32),
}


SMALL = (2, 3, 7, 8, 13)
LARGE = (1023, 2047, 2049, 65505, 70000, 2**24 - 1, 2**24 + 1, 2**24 + 3, 2**26, 2**31 + 7)


@pytest.mark.parametrize("name", SYMBOLIC)
def test_what_stays_symbolic(name: str) -> None:
    for value in (*SMALL, *LARGE):
        if name in ("float32 ** n", "int64 // n") and value > 70000:
            continue  # NumPy overflows
        env = ShapeEnv()
        with np.errstate(all="ignore"):
            made = SYMBOLIC[name](env.backed(value, source="n"))
            expected = SYMBOLIC[name](value)
        assert type(made) in KEPT
        assert np.array_equal(hint(made), expected, equal_nan=True), (made, value)
        assert np.copysign(1.0, float(hint(made))) == np.copysign(1.0, float(expected))
        is_int = isinstance(expected, np.integer | int)
        assert is_int == (type(made) in (SymInt, NumpyInt))
        if type(made) is NumpyInt or (type(made) is SymFloat and made.scalar):
            assert made.scalar == str(expected.dtype)
        assert [g.text for g in env.guards] == ["2 <= n"]


def test_the_bounds_hold_the_values() -> None:
    n = ShapeEnv().unbacked(min=1, max=100)
    for name in ("log", "log2", "exp", "sin", "round", "rint", "trunc", "n / float32", "clip"):
        made = SYMBOLIC[name](n)
        if type(made) is SymFloat and not made.value.span.nan:
            with np.errstate(all="ignore"):
                values = [float(SYMBOLIC[name](k)) for k in range(1, 101)]
            assert made.value.span.lo <= min(values) <= max(values) <= made.value.span.hi


def test_an_integer_that_may_be_of_numpy_does_not_meet_a_narrow_float() -> None:
    """With Python's integers the product is a float32, with those of NumPy a float64."""
    for make in (lambda n: np.prod([n, 3]), lambda n: np.array([n, 2])[0]):
        n = ShapeEnv().backed(7)
        with pytest.raises(UnsupportedError, match="may be NumPy's or Python's"):
            make(n) * np.float32(0.5)
        n = ShapeEnv().backed(7)
        assert hint(make(n) * np.float64(0.3)) == make(7) * np.float64(0.3)
    for make in (lambda n: np.maximum(n + 1, 3), lambda n: np.int64(3) * n + 1, np.round):
        made = make(ShapeEnv().backed(7)) * np.float32(0.1)
        assert made.scalar == "float64"
        assert hint(made) == make(7) * np.float32(0.1)
    n = ShapeEnv().backed(7)
    assert hint(np.int64(3) * n) == 21
    assert hint(n * np.float32(0.1)) == 7 * np.float32(0.1)  # a size itself is Python's


def test_a_float_of_python_has_no_item() -> None:
    with pytest.raises(AttributeError, match="item"):
        (ShapeEnv().backed(7) / 2).item()


@pytest.mark.parametrize("name", SPECIALIZED)
def test_what_numpy_computes_is_guarded(name: str) -> None:
    env = ShapeEnv()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        made, expected = SPECIALIZED[name](env.backed(7, source="n")), SPECIALIZED[name](7)
    assert type(made) is type(expected)
    assert np.array_equal(made, expected, equal_nan=True)
    assert getattr(made, "dtype", None) == getattr(expected, "dtype", None)
    assert [g.text for g in env.guards] == ["n == 7"]


def test_integers_have_no_negative_powers_in_numpy() -> None:
    n = ShapeEnv().backed(-2, size=False)
    for base in (np.int64(2), 2):
        with pytest.raises(ValueError, match="negative integer powers"):
            np.power(base, n)


@pytest.mark.parametrize("apply", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_comparisons(apply: Any) -> None:
    for other in (np.int64(7), np.float64(7.5)):
        n = ShapeEnv().backed(7)
        assert bool(apply(n, other)) is bool(apply(7, other))
        assert bool(apply(other, n)) is bool(apply(other, 7))


@pytest.mark.parametrize("value", [7, -7, 2**62, -(2**62), 2**63 - 1])
@pytest.mark.parametrize(
    "apply", [np.square, lambda n: np.multiply(n, 4), lambda n: n - np.int64(9)]
)
def test_an_overflow_is_another_program(apply: Any, value: int) -> None:
    env = ShapeEnv()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = apply(np.int64(value))
        made = apply(env.backed(value, size=False, source="n"))
    assert int(hint(made)) == int(expected)
    assert env.guards


def test_an_overflow_of_data_is_asserted() -> None:
    env = ShapeEnv()
    made = np.multiply(env.unbacked(size=False, source="u"), 4)
    assert isinstance(made, NumpyInt)
    low, high = -(2**63), 2**63 - 1
    assert {f"{low} <= 4*u", f"4*u <= {high}"} == {a.text for a in env.runtime_asserts}
