"""Modules whose names and state the tests ask for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Tied(nn.Module):
    """Tied weights, a loop over layers, a layer at two places, and tensors of every kind."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.again = self.layers[0]
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.embed.weight
        self.unused = nn.Linear(2, 2)
        self.register_buffer("shift", torch.ones(4), persistent=False)
        self.register_buffer("count", torch.zeros(1))
        self.scale = torch.full((4,), 2.0)
        self.hidden = [nn.Linear(4, 4)]

    def forward(self, ids: torch.Tensor) -> Any:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        x = self.hidden[0](x) * self.scale + self.shift
        self.count.add_(1)
        return {"logits": self.out(self.again(x)), "last": x}


class Norm(nn.Module):
    """A net with a batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class ByData(nn.Module):
    """Branches on data, with a layer on both sides."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        x = self.second(x) if x.sum() > 0 else x - 1
        return self.first(x)


class BySize(nn.Module):
    """Branches on a size, with a layer on each side."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.many = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.many(x) + x.mean(0) if x.size(0) > 1 else self.one(x)
