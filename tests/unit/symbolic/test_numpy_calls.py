"""NumPy's scalars and functions on symbolic numbers, against NumPy on plain ones."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

from anyshape import ShapeEnv, SymBool, SymFloat, SymInt, hint

KEPT = (SymInt, SymFloat, SymBool)
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
}
SPECIALIZED = {
    "float32 * n": lambda n: np.float32(0.7) * n,
    "int8 * n": lambda n: np.int8(3) * n,
    "array * n": lambda n: np.ones(3) * n,
    "log": np.log,
    "zeros": np.zeros,
    "maximum": lambda n: np.maximum(n, 3),
    "division by zero": lambda n: np.int64(3) // (n - 7),
    "root of a negative number": lambda n: np.sqrt(n - 9),
    "power": lambda n: np.float64(2.0) ** np.float32(n),
    "reduce": lambda n: np.add.reduce(np.array([1, 2])) + np.multiply(n, 2, dtype=np.int32),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_what_stays_symbolic(name: str) -> None:
    for value in (7, 8, 13):
        env = ShapeEnv()
        made = SYMBOLIC[name](env.backed(value, source="n"))
        assert type(made) in KEPT
        expected = SYMBOLIC[name](value)
        assert hint(made) == expected
        assert np.copysign(1.0, float(hint(made))) == np.copysign(1.0, float(expected))
        assert isinstance(expected, np.integer | int) == (type(made) is SymInt)
        assert [g.text for g in env.guards] == ["2 <= n"]


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
