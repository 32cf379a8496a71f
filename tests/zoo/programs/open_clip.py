"""Towers and losses of OpenCLIP."""

from __future__ import annotations

import torch
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.transformer import TextTransformer, VisionTransformer

from tests.zoo.case import Case


def vision() -> Case:
    model = VisionTransformer(16, 4, 16, 2, 2, 2.0, output_dim=8)
    return Case(model, [(torch.randn(b, 3, 16, 16),) for b in (3, 1, 5)])


def text() -> Case:
    model = TextTransformer(context_length=12, vocab_size=50, width=16, heads=2, layers=1)
    return Case(model, [(torch.randint(0, 50, (b, s)),) for b, s in ((3, 12), (1, 12), (2, 12))])


def clip_loss() -> Case:
    loss = ClipLoss()
    scale = torch.tensor(10.0)
    return Case(loss, [(torch.randn(n, 8), torch.randn(n, 8), scale) for n in (4, 1, 6)])


def siglip_loss() -> Case:
    loss, scale, bias = SigLipLoss(), torch.tensor(10.0), torch.tensor(-1.0)
    return Case(loss, [(torch.randn(n, 8), torch.randn(n, 8), scale, bias) for n in (4, 1, 6)])


PROGRAMS = {make.__name__: make for make in (vision, text, clip_loss, siglip_loss)}
