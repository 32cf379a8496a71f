"""The table of ops: its meaning on Python numbers and the limits on size."""

import math

import pytest

from anyshape.domain import EVERYTHING, INF, LIMIT, NINF, Bound
from anyshape.expr.table.op import CEIL, FLOOR, OPS, PRODUCT, ROUND, SYMBOL, TRUNC, Op, power_of
from anyshape.expr.table.op_condition import TRUE
from anyshape.expr.table.op_integer import MAX_BITS
from anyshape.expr.table.op_real import Span


def test_names_are_the_keys() -> None:
    assert all(name == op.name for name, op in OPS.items())


def test_a_symbol_has_no_value_of_its_own() -> None:
    with pytest.raises(LookupError):
        SYMBOL.value()
    assert SYMBOL.bounds() == EVERYTHING


def test_a_condition_has_no_bounds() -> None:
    with pytest.raises(LookupError):
        TRUE.bounds()


def test_an_op_shows_its_name() -> None:
    assert repr(FLOOR) == "<op floor>"


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [(2, 10, 1024), (0, 0, 1), (-1, 10**30, 1), (1, 10**30, 1), (0, 10**30, 0), (-3, 3, -27)],
)
def test_powers(base: int, exponent: int, expected: int) -> None:
    assert power_of(base, exponent) == expected


def test_what_is_no_power_is_refused() -> None:
    with pytest.raises(ValueError, match="negative exponent"):
        power_of(2, -1)
    with pytest.raises(OverflowError, match="bits"):
        power_of(2, 10**30)
    with pytest.raises(OverflowError, match="bits"):
        power_of(10**9999, 10**9)


def test_products_of_absurd_size_are_refused() -> None:
    half = 1 << (MAX_BITS // 2 - 1)
    assert PRODUCT.value(half, half, 1, 1) == half**2
    with pytest.raises(OverflowError, match="bits"):
        PRODUCT.value(half, half, half, 1, 1, 1)


@pytest.mark.parametrize(
    ("op", "lo", "hi", "expected"),
    [
        (FLOOR, -1.5, 2.5, (-2, 2)),
        (CEIL, -1.5, 2.5, (-1, 3)),
        (ROUND, -1.5, 2.5, (-2, 2)),
        (TRUNC, -1.5, 2.5, (-1, 2)),
        (FLOOR, NINF, 0.5, (NINF, 0)),
        (CEIL, 0.5, INF, (1, INF)),
        (FLOOR, -1e300, 1e300, (NINF, INF)),
        (FLOOR, 1e300, INF, (LIMIT, INF)),
        (FLOOR, INF, INF, (LIMIT, INF)),
        (CEIL, NINF, NINF, (NINF, -LIMIT)),
    ],
)
def test_bounds_of_roundings(op: Op, lo: float, hi: float, expected: tuple[Bound, Bound]) -> None:
    found = op.bounds(Span(lo, hi, False))
    assert found == expected
    assert not any(isinstance(end, float) and math.isfinite(end) for end in found)
