"""Pooling and heads of sentence-transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from sentence_transformers import util
from sentence_transformers.models import Dense, Normalize, Pooling

from tests.zoo.case import Case


class Head(torch.nn.Module):
    """Pooling, a dense layer and normalization, over a dict of features."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.pool, self.dense, self.norm = Pooling(8, mode), Dense(8, 4), Normalize()

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
        """The embedding of each sentence."""
        features = self.pool({"token_embeddings": x, "attention_mask": mask})
        return self.norm(self.dense(features))["sentence_embedding"]


def head(mode: str) -> Case:
    """A head at several batch sizes and lengths."""
    sizes = ((3, 5), (1, 7), (2, 1))
    calls: list[Any] = [
        (torch.randn(b, s, 8), torch.ones(b, s, dtype=torch.long)) for b, s in sizes
    ]
    return Case(Head(mode), calls)


def similarity() -> Case:
    def best(a: torch.Tensor, b: torch.Tensor) -> Any:
        return util.cos_sim(a, b), util.pairwise_dot_score(a, a)

    return Case(best, [(torch.randn(n, 4), torch.randn(m, 4)) for n, m in ((3, 5), (1, 1), (4, 2))])


PROGRAMS = {mode: partial(head, mode) for mode in ("mean", "max", "lasttoken")} | {
    "similarity": similarity
}
