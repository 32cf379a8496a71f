"""Functions that TorchScript compiled, called in a traced program."""

from __future__ import annotations

import warnings

import pytest
import torch

import anyshape


def root(x: torch.Tensor, k: int) -> torch.Tensor:
    return torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * k)


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    scripted = torch.jit.script(root)
    traced = torch.jit.trace(double, torch.ones(2))


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x / scripted(x, 3)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return traced(x + 1) - 1


def test_scripted_function_is_part_of_the_program() -> None:
    compiled = anyshape.compile(scaled)
    program = anyshape.export(scaled, (torch.ones(2, 4),), dynamic_shapes=({1: "n"},))
    for n in (4, 1, 9):
        x = torch.randn(2, n)
        torch.testing.assert_close(compiled(x), scaled(x))
        torch.testing.assert_close(program(x), scaled(x))
    assert compiled.eager_because is None
    assert compiled.stats.breaks == 0


def test_traced_function_breaks_the_graph() -> None:
    compiled = anyshape.compile(doubled)
    for n in (4, 1, 9):
        x = torch.randn(n)
        torch.testing.assert_close(compiled(x), doubled(x))
    with pytest.raises(anyshape.UnsupportedError, match="double is compiled by TorchScript"):
        anyshape.export(doubled, (torch.ones(3),))
