"""Graph networks of PyTorch Geometric."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch_geometric import nn as gnn

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((6, 14), (1, 3), (9, 0), (12, 40))


def edges(n: int, e: int) -> torch.Tensor:
    return torch.randint(0, n, (2, e))


def network(make: Callable[[], nn.Module]) -> Case:
    """A convolution over graphs with several numbers of nodes and edges."""
    return Case(make(), [(torch.randn(n, 8), edges(n, e)) for n, e in SIZES])


def edge_features() -> Case:
    model = gnn.GINEConv(nn.Linear(8, 8), edge_dim=4)
    return Case(model, [(torch.randn(n, 8), edges(n, e), torch.randn(e, 4)) for n, e in SIZES])


def classify() -> Case:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = gnn.GraphConv(8, 8)
            self.out = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor, edge: torch.Tensor, batch: torch.Tensor) -> Any:
            x = self.conv(x, edge).relu()
            return self.out(gnn.global_mean_pool(x, batch, 3))

    def batch(n: int) -> torch.Tensor:
        return torch.arange(n) * 3 // max(n, 1)

    return Case(Classifier(), [(torch.randn(n, 8), edges(n, e), batch(n)) for n, e in SIZES])


def top_k_pool() -> Case:
    class Pool(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pool = gnn.TopKPooling(8, 0.5)

        def forward(self, x: torch.Tensor, edge: torch.Tensor) -> Any:
            return self.pool(x, edge)[:2]

    return Case(Pool(), [(torch.randn(n, 8), edges(n, e)) for n, e in SIZES])


def set2set() -> Case:
    model = gnn.aggr.Set2Set(8, 2)
    return Case(model, [(torch.randn(n, 8), torch.arange(n) // 2) for n in (6, 2, 9)])


def schnet() -> Case:
    def all_pairs(pos: torch.Tensor, batch: torch.Tensor) -> Any:
        n = pos.shape[0]
        row = torch.arange(n).repeat_interleave(n)
        col = torch.arange(n).repeat(n)
        row, col = row[row != col], col[row != col]
        return torch.stack([row, col]), (pos[row] - pos[col]).norm(dim=-1)

    model = gnn.SchNet(16, 16, 2, 8, cutoff=3.0, interaction_graph=all_pairs)
    calls: list[Any] = [(torch.randint(1, 9, (n,)), torch.randn(n, 3)) for n in (5, 3, 8)]
    return Case(model, calls)


def dense_pool() -> Case:
    def pool(x: torch.Tensor, adj: torch.Tensor, s: torch.Tensor) -> Any:
        return gnn.dense_diff_pool(x, adj, s)

    sizes = ((2, 6), (1, 4), (3, 1))
    return Case(
        pool, [(torch.randn(b, n, 8), torch.rand(b, n, n), torch.randn(b, n, 3)) for b, n in sizes]
    )


CONVOLUTIONS: dict[str, Callable[[], nn.Module]] = {
    "gcn": lambda: gnn.GCN(8, 16, 2, 4),
    "gat": lambda: gnn.GATv2Conv(8, 4, heads=2),
    "sage": lambda: gnn.GraphSAGE(8, 16, 2, 4),
    "gin": lambda: gnn.GIN(8, 16, 2, 4),
    "pna": lambda: gnn.PNAConv(8, 8, ["mean", "max"], ["identity"], deg=torch.tensor([0, 2, 3])),
    "transformer": lambda: gnn.TransformerConv(8, 4, heads=2),
    "cheb": lambda: gnn.ChebConv(8, 8, 3),
    "appnp": lambda: gnn.APPNP(3, 0.1),
}

PROGRAMS = {name: partial(network, make) for name, make in CONVOLUTIONS.items()} | {
    make.__name__: make
    for make in (edge_features, classify, top_k_pool, set2set, schnet, dense_pool)
}
