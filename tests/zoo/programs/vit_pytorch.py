"""Vision transformers of vit-pytorch."""

from __future__ import annotations

import torch
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

from tests.zoo.case import Case

SMALL = {"num_classes": 4, "dim": 16, "depth": 1, "heads": 2, "mlp_dim": 32}


def vit() -> Case:
    model = ViT(image_size=16, patch_size=4, **SMALL)
    return Case(model, [(torch.randn(b, 3, 16, 16),) for b in (3, 1, 5)])


def simple_vit() -> Case:
    model = SimpleViT(image_size=16, patch_size=4, **SMALL)
    return Case(model, [(torch.randn(b, 3, 16, 16),) for b in (3, 1, 5)])


def cct() -> Case:
    model = CCT(
        img_size=16, embedding_dim=16, n_conv_layers=1, kernel_size=3, stride=2, padding=1,
        num_layers=1, num_heads=2, mlp_ratio=2.0, num_classes=4, positional_embedding="learnable",
    )  # fmt: skip
    return Case(model, [(torch.randn(b, 3, 16, 16),) for b in (3, 1, 5)])


PROGRAMS = {make.__name__: make for make in (vit, simple_vit, cct)}
