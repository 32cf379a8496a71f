"""Image models of timm, with few layers and channels where a configuration allows it."""

from __future__ import annotations

from functools import partial
from typing import Any

import timm
import torch

from tests.zoo.case import Case


def model(name: str, sizes: tuple[tuple[int, int], ...], **settings: Any) -> Case:
    """A model at several batch and image sizes."""
    made = timm.create_model(name, pretrained=False, num_classes=5, **settings)
    return Case(made, [(torch.randn(b, 3, n, n),) for b, n in sizes])


VIT = {"img_size": 32, "patch_size": 8, "embed_dim": 32, "depth": 2, "num_heads": 2}
BATCHES = ((3, 32), (1, 32), (5, 32))

PROGRAMS = {
    "vit": partial(model, "vit_tiny_patch16_224", BATCHES, **VIT),
    "vit_dynamic": partial(
        model, "vit_tiny_patch16_224", ((3, 32), (1, 48), (2, 40)), dynamic_img_size=True, **VIT
    ),
    "deit": partial(model, "deit_tiny_distilled_patch16_224", BATCHES, **VIT),
    "beit": partial(model, "beit_base_patch16_224", BATCHES, **VIT),
    "eva": partial(model, "eva02_tiny_patch14_224", ((3, 28), (1, 28)), img_size=28, depth=2),
    "swin": partial(
        model, "swin_tiny_patch4_window7_224", BATCHES, img_size=32, embed_dim=16,
        depths=(2, 2), num_heads=(2, 2), window_size=4,
    ),
    "mixer": partial(
        model, "mixer_s32_224", ((3, 64), (1, 64)), img_size=64
    ),
    "resnet10t": partial(model, "resnet10t", ((2, 32), (1, 48), (3, 33))),
    "efficientnet_lite0": partial(model, "efficientnet_lite0", ((2, 32), (3, 64))),
    "mobilenetv4": partial(model, "mobilenetv4_conv_small_035", ((2, 32), (1, 64))),
    "convnext_atto": partial(model, "convnext_atto", ((2, 32), (1, 64))),
    "efficientvit_b0": partial(model, "efficientvit_b0", ((2, 32), (1, 64))),
    "ghostnet": partial(model, "ghostnetv2_100", ((2, 64), (3, 96))),
    "repvit": partial(model, "repvit_m0_9", ((2, 32), (3, 64))),
    "nfnet": partial(model, "nf_resnet26", ((2, 32), (1, 48))),
}  # fmt: skip
