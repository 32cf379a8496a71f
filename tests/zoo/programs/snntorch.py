"""Spiking neurons of snntorch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import snntorch
import torch
from torch import nn

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


class Network(nn.Module):
    """Two layers of neurons over four steps."""

    def __init__(self, neuron: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)
        self.inner, self.outer = neuron(), neuron()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The spikes of all steps."""
        spikes = []
        for _ in range(4):
            spikes.append(self.outer(self.last(self.inner(self.first(x)))))
        return torch.stack(spikes)


def network(neuron: Callable[[], nn.Module]) -> Case:
    """A network whose neurons keep their state."""
    return Case(Network(neuron), [(torch.randn(n, 6),) for n in (4, 4, 4)])


class Stateless(nn.Module):
    """One neuron whose state is passed along."""

    def __init__(self) -> None:
        super().__init__()
        self.neuron = snntorch.Leaky(beta=0.9)

    def forward(self, x: torch.Tensor) -> Any:
        """The spikes and the membrane after all steps."""
        membrane = torch.zeros_like(x[0])
        for step in x.unbind(0):
            spike, membrane = self.neuron(step, membrane)
        return spike, membrane


def stateless() -> Case:
    return Case(Stateless(), [(torch.randn(3, n, 6),) for n in (4, 1, 7)])


PROGRAMS = {
    "leaky": partial(network, lambda: snntorch.Leaky(beta=0.9, init_hidden=True)),
    "synaptic": partial(network, lambda: snntorch.Synaptic(0.9, 0.8, init_hidden=True)),
    "stateless": stateless,
}
