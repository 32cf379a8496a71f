"""Losses and miners over embeddings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from pytorch_metric_learning import losses, miners

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def loss(make: Callable[[], Any]) -> Case:
    """A loss of labelled embeddings."""
    return Case(make(), [(torch.randn(n, 8), torch.arange(n) % 3) for n in (9, 6, 12)])


def mined() -> Case:
    miner, inner = miners.MultiSimilarityMiner(), losses.TripletMarginLoss()

    def total(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return inner(x, labels, miner(x, labels))

    return Case(total, [(torch.randn(n, 8), torch.arange(n) % 3) for n in (9, 6, 12)])


PROGRAMS = {
    "triplet": partial(loss, losses.TripletMarginLoss),
    "contrastive": partial(loss, losses.ContrastiveLoss),
    "nt_xent": partial(loss, losses.NTXentLoss),
    "mined": mined,
}
