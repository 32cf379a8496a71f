"""Ordinary differential equations with fixed and adaptive steps."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn
from torchdiffeq import odeint

from tests.zoo.case import Case


class Flow(nn.Module):
    """The solution at two times."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.field, self.method = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)), method

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The states at the times 0 and 1."""
        times = torch.tensor([0.0, 1.0])
        options = {"step_size": 0.25} if self.method in ("euler", "rk4") else None
        return odeint(lambda _, y: self.field(y), x, times, method=self.method, options=options)


def flow(method: str) -> Case:
    """A flow of states."""
    return Case(Flow(method), [(torch.randn(n, 4),) for n in (5, 1, 8)])


PROGRAMS = {name: partial(flow, name) for name in ("euler", "rk4", "dopri5")}
