"""What libraries do around their tensors: exported and compiled at sizes with 0 and 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import anyshape

SIZES = (5, 0, 1, 8)


def by_length(x: torch.Tensor) -> torch.Tensor:
    (kept,) = torch.where(x > 0)
    if len(kept) == 0:
        return x.sum()
    return x[kept].sum() * len(x)


def all_short(x: torch.Tensor) -> torch.Tensor:
    rows, columns = torch.where((x > 0)[:, None] & (x < 1)[None])
    if all(len(place) <= 1 for place in (rows, columns)):
        return x.sum()
    return x[rows].sum() + x[columns].sum()


class Tableau(NamedTuple):
    """Coefficients, as a record of tensors."""

    alpha: torch.Tensor
    order: int


class Solver(nn.Module):
    """Reads tensors off a record that its class holds."""

    tableau = Tableau(torch.tensor([0.5, 1.0]), 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = Tableau(self.tableau.alpha.to(x.dtype) * 2, self.tableau.order)
        return x[:, None] * made.alpha + made.order


class Neuron(nn.Module):
    """Assigns one buffer and reads another."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("threshold", torch.tensor(0.5))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x.sum(0, keepdim=True)
        return x - self.threshold + self.seen


class Normal(nn.Module):
    """A distribution over buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Normal(self.mean, self.scale).log_prob(x)


@torch.jit.script_if_tracing
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.numel() > 1 else x


def calls_decorated(x: torch.Tensor) -> torch.Tensor:
    return decorated(x) + 1


@pytest.mark.parametrize(
    "model",
    [by_length, all_short, Solver(), Neuron(), Normal(), calls_decorated],
    ids=lambda m: getattr(m, "__name__", type(m).__name__),
)
def test_one_program_serves_all_sizes(model: Any) -> None:
    program = anyshape.export(model, (torch.randn(5),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(model)
    for n in SIZES:
        for x in (torch.randn(n), -torch.ones(n)):
            expected = model(x)
            assert torch.equal(program(x), expected)
            assert torch.equal(compiled(x), expected)
    assert compiled.eager_because is None


def test_sizes_that_every_side_of_a_branch_refuses_are_refused() -> None:
    def step(noise: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        scale = 1.0 if noise.sum() > 0 else 2.0
        return sample - scale * noise

    program = anyshape.export(
        step,
        (torch.ones(3, 2), torch.ones(3, 2)),
        dynamic_shapes=({0: anyshape.Dim.AUTO}, {0: anyshape.Dim.AUTO}),
    )
    for n, m in ((3, 3), (1, 1), (0, 0), (4, 1), (1, 4)):
        noise, sample = torch.randn(n, 2), torch.randn(m, 2)
        assert torch.equal(program(noise, sample), step(noise, sample))
    with pytest.raises(anyshape.AnyshapeError):
        program(torch.ones(3, 2), torch.ones(4, 2))
