"""Segmentation models with a small encoder."""

from __future__ import annotations

from functools import partial

import segmentation_models_pytorch as smp
import torch

from tests.zoo.case import Case


def model(name: str) -> Case:
    """A model at several batch and image sizes."""
    made = smp.create_model(name, "mobileone_s0", encoder_weights=None, classes=2)
    return Case(made, [(torch.randn(b, 3, n, n),) for b, n in ((2, 64), (3, 96))])


def dice_loss() -> Case:
    loss = smp.losses.DiceLoss("multiclass")
    sizes = ((2, 8), (1, 5))
    calls = [(torch.randn(b, 3, n, n), torch.randint(0, 3, (b, n, n))) for b, n in sizes]
    return Case(loss, [*calls])


PROGRAMS = {name: partial(model, name) for name in ("unet", "fpn", "linknet")} | {
    "dice_loss": dice_loss
}
