"""Modules whose tensors are registered in unusual ways: trained through the program as in eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from anyshape import export


class Lists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.listed = nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(2)])
        self.named = nn.ParameterDict({"for": nn.Parameter(torch.randn(4))})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.listed[0] + self.listed[1] - self.named["for"]


class Wrapped(nn.Module):
    """A linear layer whose weight is computed from other parameters, and buffers."""

    def __init__(self, wrap: Any) -> None:
        super().__init__()
        self.layer = wrap(nn.Linear(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class Norm(nn.Module):
    """One module at two places, with dropout and statistics that change."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.3))
        self.again = self.first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.again(self.first(x))


class Average(nn.Module):
    """Buffers: one follows a weight, one is assigned, one is not saved. A frozen layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.register_buffer("average", torch.zeros(4, 4))
        self.register_buffer("last", torch.zeros(3, 4))
        self.register_buffer("calls", torch.tensor(0), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.average.lerp_(self.layer.weight, 0.1)
            self.calls += 1
            self.last = torch.cat([self.last[1:], x.sum(0, keepdim=True)])
        return self.frozen(self.layer(x)) + x @ self.average + self.last.sum() * self.calls


class Halves(nn.Module):
    """Parameters over one memory."""

    def __init__(self) -> None:
        super().__init__()
        both = torch.randn(8)
        self.scale, self.shift = nn.Parameter(both[:4]), nn.Parameter(both[4:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.shift


MODULES = {
    "lists": Lists,
    "weight norm": lambda: Wrapped(parametrizations.weight_norm),
    "spectral norm": lambda: Wrapped(parametrizations.spectral_norm),
    "orthogonal": lambda: Wrapped(parametrizations.orthogonal),
    "norm": Norm,
    "average": Average,
    "halves": Halves,
}


def train(module: nn.Module) -> None:
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], 0.1)
    for step, rows in enumerate((2, 5, 3)):
        torch.manual_seed(step)
        optimizer.zero_grad()
        module(torch.randn(rows, 4)).square().mean().backward()
        optimizer.step()


def need_same(ours: Any, module: nn.Module) -> None:
    """Equal names in an equal order, and equal values."""
    assert list(ours) == list(module.state_dict())
    for name, value in module.state_dict().items():
        torch.testing.assert_close(ours[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", MODULES)
def test_training_and_loading(name: str, mode: str) -> None:
    torch.manual_seed(0)
    module = MODULES[name]().train(mode == "train")
    before = copy.deepcopy(module)
    program = export(copy.deepcopy(module), (torch.randn(4, 4),), dynamic_shapes=({0: "rows"},))
    need_same(program.state_dict(), module)  # the export has changed nothing
    trained = program.module()
    train(trained)
    train(module)
    need_same(trained.state_dict(), module)
    need_same(program.state_dict(), module)
    program.load_state_dict(before.state_dict())
    need_same(program.state_dict(), before)


def test_a_planted_difference_is_found() -> None:
    module = Average()
    program = export(copy.deepcopy(module), (torch.randn(4, 4),), dynamic_shapes=({0: "rows"},))
    with torch.no_grad():
        program.state["average"].add_(1e-3)
    with pytest.raises(AssertionError, match="not close"):
        need_same(program.state_dict(), module)
