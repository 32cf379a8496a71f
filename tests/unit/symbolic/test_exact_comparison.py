"""A symbolic integer against a symbolic float: compared as Python does, without rounding."""

from __future__ import annotations

import math

import pytest

from anyshape import ShapeEnv
from anyshape.expr import evaluate
from anyshape.expr.table.op import COMPARE


@pytest.mark.parametrize("n", [2**53 - 1, 2**53, 2**53 + 1, 2**64 + 1, -(2**53) - 1, 3])
@pytest.mark.parametrize("x", [2.0**53, -(2.0**53), 2.0**64, 2.5, math.inf, -math.inf, math.nan])
def test_an_integer_and_a_float(n: int, x: float) -> None:
    for apply in COMPARE.values():
        env = ShapeEnv()
        ours, other = env.backed_float(x), env.backed(n, size=False)
        assert bool(apply(other, ours)) is apply(n, x)
        assert bool(apply(ours, other)) is apply(x, n)
        assert bool(apply(other, x)) is apply(n, x)
        assert bool(apply(x, other)) is apply(x, n)
        assert bool(apply(ours, n)) is apply(x, n)
        assert bool(apply(n, ours)) is apply(n, x)
        assert all(evaluate(g.condition, {"s0": n, "f0": x}) for g in env.guards)
