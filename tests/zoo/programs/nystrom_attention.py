"""Attention by landmarks, which pads its sequence."""

from __future__ import annotations

import torch
from nystrom_attention import NystromAttention

from tests.zoo.case import Case


def attention() -> Case:
    model = NystromAttention(16, dim_head=8, heads=2, num_landmarks=4)
    return Case(model, [(torch.randn(b, n, 16),) for b, n in ((2, 8), (1, 13), (3, 5))])


PROGRAMS = {"attention": attention}
