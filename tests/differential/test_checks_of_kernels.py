"""Checks in the fake kernels of custom ops: where sizes refute them, the program raises."""

from __future__ import annotations

import pytest
import torch

import anyshape


@torch.library.custom_op("anyshape_checks::add", mutates_args=())
def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.size(0) != b.size(0):
        raise ValueError("not the same")
    return a + b


@add.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    torch._check(a.size(0) == b.size(0), lambda: "not the same")
    return torch.empty_like(a)


def twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return add(a, b) * 2


def test_sizes_that_a_check_refutes_are_refused() -> None:
    example = (torch.ones(4), torch.ones(4))
    program = anyshape.export(twice, example, dynamic_shapes=({0: "n"}, {0: "m"}))
    for n in (4, 1, 0, 7):
        x, y = torch.randn(n), torch.randn(n)
        torch.testing.assert_close(program(x, y), twice(x, y))
    with pytest.raises(anyshape.AnyshapeError, match="not the same"):
        program(torch.ones(3), torch.ones(5))
