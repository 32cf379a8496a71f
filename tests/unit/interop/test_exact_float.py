"""Floats of integers that float64 would round."""

from __future__ import annotations

import pytest
import torch

import anyshape


def third_power(x: torch.Tensor) -> torch.Tensor:
    return x * float(x.shape[0] ** 3 % 1000)


def large_power(x: torch.Tensor) -> torch.Tensor:
    return x * float(x.shape[0] ** 20 % 1000)


@pytest.mark.parametrize("fn", [third_power, large_power])
def test_they_are_those_of_eager_execution(fn: object) -> None:
    compiled = anyshape.compile(fn, backend="aot_eager", dynamic=True)  # type: ignore[arg-type]
    for n in (3, 5, 7, 11):
        assert torch.equal(compiled(torch.ones(n)), fn(torch.ones(n)))  # type: ignore[operator]


def test_integers_that_a_program_is_given() -> None:
    class Box:
        k = 1

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x * float(Box.k % 7)

    compiled = anyshape.compile(fn, backend="aot_eager", dynamic=True)
    for k in (1, 2, 5, 2**70, 2**63, -(2**70)):
        Box.k = k
        assert torch.equal(compiled(torch.ones(2)), fn(torch.ones(2)))
