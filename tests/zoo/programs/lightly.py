"""Heads and losses of Lightly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from lightly import loss
from lightly.models.modules import heads

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def pairs(make: Callable[[], Any]) -> Case:
    """A loss of two views."""
    return Case(make(), [(torch.randn(n, 8), torch.randn(n, 8)) for n in (4, 2, 7)])


def projection() -> Case:
    model = heads.SimCLRProjectionHead(8, 16, 4)
    return Case(model, [(torch.randn(n, 8),) for n in (4, 2, 7)])


PROGRAMS = {
    "nt_xent": partial(pairs, loss.NTXentLoss),
    "barlow_twins": partial(pairs, loss.BarlowTwinsLoss),
    "vicreg": partial(pairs, loss.VICRegLoss),
    "negative_cosine": partial(pairs, loss.NegativeCosineSimilarity),
    "projection": projection,
}
