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


def of_a_number(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    n = count.item()
    torch._assert(n <= x.shape[0], "too many")
    torch._assert(n >= 0, "negative")
    return x[:n]


def test_assert_of_a_number_asks_for_its_caller() -> None:
    call = (torch.ones(4, 2), torch.tensor(2))
    program = anyshape.export(of_a_number, call, dynamic_shapes=({0: "n"}, None))
    again = anyshape.export(program.module(), call, dynamic_shapes=({0: "n"}, None))
    for p in (program, again):
        for n in (0, 1, 4):
            assert p(call[0], torch.tensor(n)).shape == (n, 2)
        with pytest.raises(AssertionError, match="too many"):
            p(call[0], torch.tensor(5))
        with pytest.raises(AssertionError, match="negative"):
            p(call[0], torch.tensor(-1))


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
    with pytest.raises(AssertionError, match="positive"):
        program(-torch.ones(3))
    with pytest.raises(AssertionError, match="positive"):
        compiled(-torch.ones(3))
