"""`torch._assert` of sizes and of data."""

from __future__ import annotations

import pytest
import torch

import anyshape


def of_sizes(x: torch.Tensor) -> torch.Tensor:
    torch._assert(x.ndim == 2, "two dimensions")
    torch._assert(x.shape[0] < 6, "few rows")
    return x * 2


def of_data(x: torch.Tensor) -> torch.Tensor:
    torch._assert((x > 0).all(), "positive")
    return x.sqrt()


def test_assert_of_sizes_is_a_guard() -> None:
    program = anyshape.export(of_sizes, (torch.ones(4, 3),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(of_sizes)
    for n in (4, 1, 0, 5):
        x = torch.randn(n, 3)
        torch.testing.assert_close(program(x), of_sizes(x))
        torch.testing.assert_close(compiled(x), of_sizes(x))
    with pytest.raises(anyshape.ConstraintError, match="few rows"):
        program(torch.ones(7, 3))
    with pytest.raises(AssertionError, match="few rows"):
        compiled(torch.ones(7, 3))


def test_assert_of_data_is_checked_while_running() -> None:
    program = anyshape.export(of_data, (torch.ones(4),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(of_data)
    for n in (4, 1, 0, 9):
        x = torch.rand(n) + 0.1
        torch.testing.assert_close(program(x), of_data(x))
        torch.testing.assert_close(compiled(x), of_data(x))
    with pytest.raises(anyshape.RuntimeAssertError):
        program(-torch.ones(3))
    with pytest.raises(AssertionError, match="positive"):
        compiled(-torch.ones(3))
