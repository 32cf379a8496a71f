"""Linformer over sequences up to a length."""

from __future__ import annotations

import torch
from linformer import Linformer

from tests.zoo.case import Case


def encoder() -> Case:
    model = Linformer(dim=16, seq_len=16, depth=1, heads=2, k=4)
    return Case(model, [(torch.randn(b, 16, 16),) for b in (2, 1, 3)])


PROGRAMS = {"encoder": encoder}
