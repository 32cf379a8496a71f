"""Normalizing flows of zuko: modules that return distributions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import zuko

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


class LogProb(torch.nn.Module):
    """The density of samples under a flow with a context."""

    def __init__(self, flow: torch.nn.Module) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        """The logarithm of the density."""
        return self.flow(context).log_prob(x)


def density(make: Callable[..., Any]) -> Case:
    """A flow over three features."""
    model = LogProb(make(3, 2, transforms=1, hidden_features=(8,)))
    return Case(model, [(torch.randn(n, 3), torch.randn(n, 2)) for n in (5, 1, 8)])


PROGRAMS = {
    "maf": partial(density, zuko.flows.MAF),
    "nsf": partial(density, zuko.flows.NSF),
}
