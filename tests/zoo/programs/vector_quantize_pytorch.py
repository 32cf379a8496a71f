"""Quantizers of vector-quantize-pytorch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch
import vector_quantize_pytorch as vq

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


def quantizer(make: Callable[[], nn.Module]) -> Case:
    """A quantizer over sequences of vectors."""
    return Case(make(), [(torch.randn(b, n, 8),) for b, n in ((2, 6), (1, 9), (3, 1))])


MAKERS: dict[str, Callable[[], nn.Module]] = {
    "vector_quantize": lambda: vq.VectorQuantize(dim=8, codebook_size=16),
    "residual_vq": lambda: vq.ResidualVQ(dim=8, codebook_size=16, num_quantizers=2),
    "fsq": lambda: vq.FSQ(levels=[4, 4], dim=8),
    "lfq": lambda: vq.LFQ(dim=8, codebook_size=16),
}

PROGRAMS = {name: partial(quantizer, make) for name, make in MAKERS.items()}
