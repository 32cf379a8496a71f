"""Ops of torch on numbers alone give tensors of no dimension."""

from __future__ import annotations

import pytest
import torch

import anyshape


def divided(x: torch.Tensor) -> torch.Tensor:
    return x * torch.div(x.shape[0], 2, rounding_mode="trunc")


def divided_floats(x: torch.Tensor) -> torch.Tensor:
    return x * torch.div(7, 2)


def added(x: torch.Tensor) -> torch.Tensor:
    return x + torch.add(x.shape[0], 2)


@pytest.mark.parametrize("fn", [divided, divided_floats, added])
def test_as_in_eager(fn: object) -> None:
    assert callable(fn)
    program = anyshape.export(fn, (torch.ones(4),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(fn)
    for n in (4, 1, 0, 9):
        x = torch.randn(n)
        torch.testing.assert_close(program(x), fn(x), rtol=0, atol=0)
        torch.testing.assert_close(compiled(x), fn(x), rtol=0, atol=0)
