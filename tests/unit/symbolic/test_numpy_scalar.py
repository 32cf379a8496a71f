"""Symbolic scalars of NumPy, against NumPy's own: the same classes, dtypes, values and errors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from anyshape import ShapeEnv, SymInt
from anyshape.errors import UnsupportedError
from anyshape.symbolic.numpy_calls import converted, lifted
from anyshape.symbolic.numpy_scalar import (
    RANGES,
    NumpyBool,
    NumpyInt,
    number_of,
    scalar_name,
    value_of,
)
from anyshape.tensor.identity import is_instance, type_of

OTHERS = [3, 0, -2, 2.5, True, np.int64(4), np.int8(3), np.uint8(5), np.float32(0.7), np.float64(2)]
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, divmod),
]


def scalar(value: int, dtype: str = "int64") -> tuple[NumpyInt, ShapeEnv]:
    env = ShapeEnv()
    low, high = RANGES[dtype]
    e = env.backed(value, source="n", size=False, min=low, max=high)
    return NumpyInt(e.expr, e.env, dtype), env


def outcome(call: Any, *args: Any) -> Any:
    """The class and the value of a result, or its error; a refusal counts as a warning."""
    try:
        with np.errstate(all="raise", under="ignore"):
            made = call(*args)
    except (UnsupportedError, FloatingPointError):
        return "warns"
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as e:
        return type(e)
    parts = made if isinstance(made, tuple) else (made,)
    plain = [value_of(x) if hasattr(x, "env") else x for x in parts]
    return [(type_of(x), repr(v)) for x, v in zip(parts, plain, strict=True)]


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize("apply", OPERATORS, ids=lambda f: f.__name__)
def test_operators_are_those_of_numpy(apply: Any, dtype: str) -> None:
    for value in (7, 1, 0, 100):
        for other in OTHERS:
            real = getattr(np, dtype)(value)
            for swap in (False, True):
                args = (other, real) if swap else (real, other)
                n, _ = scalar(value, dtype)
                ours = (lifted(other, n), n) if swap else (n, other)
                made, expected = outcome(apply, *ours), outcome(apply, *args)
                is_refused = made == "warns" and expected is TypeError  # a float is shifted
                assert made == expected or is_refused, (value, other, swap)


def test_what_stays_symbolic_and_what_is_guarded() -> None:
    n, env = scalar(7)
    for made in (n + 1, 2 * n, n // 2, n % 3, -n, abs(n), n * n, n + np.int64(3)):
        assert type(made) is NumpyInt
        assert made.scalar == "int64"
    assert all("==" not in g.text for g in env.guards)
    assert type(n > 2) is NumpyBool
    assert type(n.item()) is type(round(n)) is SymInt
    assert (n / 2).scalar == (n * np.float32(0.5)).scalar == "float64"
    n, env = scalar(7, "int8")
    assert type(n * 2) is NumpyInt
    assert [g.text for g in env.guards][-2:] == ["-128 <= 2*n", "2*n <= 127"]


def test_what_numpy_warns_of_is_refused() -> None:
    n, _ = scalar(100, "int8")
    with pytest.raises(UnsupportedError, match="NumPy warns: overflow"):
        n * 2
    n, _ = scalar(0)
    with pytest.raises(UnsupportedError, match="NumPy warns: divide by zero"):
        np.int64(3) // n


def test_classes_and_attributes() -> None:
    n, env = scalar(7, "int32")
    assert type_of(n) is np.int32
    assert type_of(n > 2) is np.bool_
    assert is_instance(n, np.integer)
    assert not is_instance(n, int)
    assert not hasattr(n, "bit_length")
    assert (n.dtype, n.shape, n.ndim) == (np.dtype("int32"), (), 0)
    assert "n == 7" not in [g.text for g in env.guards]
    assert repr(value_of(n)) == "np.int32(7)"
    assert n.astype("float32") == 7.0
    assert "n == 7" in [g.text for g in env.guards]


def test_what_torch_takes_it_for() -> None:
    n, _ = scalar(7)
    found = number_of((n, [n, 2], slice(n, None)))
    assert [type(x) for x in (found[0], found[1][0], found[2].start)] == [SymInt] * 3
    assert type(number_of(n > 2)) is np.bool_


def test_names_of_scalars() -> None:
    names = [scalar_name(x) for x in (np.int8(1), np.float32(1), np.bool_(1), 1, 1.0, np.ones(2))]
    assert names == ["int8", "float32", "", "", "", ""]


@pytest.mark.parametrize("cls", [np.int64, np.int8, np.uint8, np.uint64, np.float64, np.float32])
def test_conversions_are_those_of_numpy(cls: Any) -> None:
    env = ShapeEnv()
    for value in (7, 0, 1, -3, 300, 2**53 + 1, 2**62):
        n = env.backed(value, source=f"n{value}", size=False)
        assert outcome(converted, cls, n) == outcome(cls, value)
        assert outcome(converted, cls, n / 2) == outcome(cls, value / 2)
        assert outcome(converted, cls, n > 2) == outcome(cls, value > 2)
    for dtype in ("int64", "int8", "uint8"):
        for value in (7, 0, 100):
            n, _ = scalar(value, dtype)
            assert outcome(converted, cls, n) == outcome(cls, getattr(np, dtype)(value))


def test_a_conversion_that_may_overflow_is_guarded() -> None:
    env = ShapeEnv()
    n = env.backed(7, source="n", size=False)
    assert type(converted(np.int8, n)) is NumpyInt
    assert env.prove(n <= 127)
    assert env.prove(n == 7) is not True
