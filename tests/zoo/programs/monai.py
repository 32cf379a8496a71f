"""Networks, losses and inferers of MONAI."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from monai import inferers, losses, metrics
from monai.networks import nets

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn


def flat(make: Callable[[], nn.Module], sizes: tuple[tuple[int, int], ...]) -> Case:
    """A network of images."""
    return Case(make(), [(torch.randn(b, 1, n, n),) for b, n in sizes])


def dice() -> Case:
    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return losses.DiceCELoss(to_onehot_y=True, softmax=True)(x, y)

    calls: list[Any] = [
        (torch.randn(b, 3, n, n), torch.randint(0, 3, (b, 1, n, n))) for b, n in ((2, 8), (1, 5))
    ]
    return Case(loss, calls)


def dice_metric() -> Case:
    def score(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return metrics.compute_dice(x, y, include_background=False)

    calls: list[Any] = [
        ((torch.rand(b, 3, n, n) > 0.5).float(), (torch.rand(b, 3, n, n) > 0.5).float())
        for b, n in ((2, 8), (1, 5))
    ]
    return Case(score, calls, trains=False)


def sliding_window() -> Case:
    network = torch.nn.Conv2d(1, 2, 3, padding=1)

    class Inferer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: torch.Tensor) -> Any:
            return inferers.sliding_window_inference(x, (8, 8), 2, self.network)

    return Case(Inferer(), [(torch.randn(1, 1, n, n),) for n in (12, 8, 17)], trains=False)


SMALL = ((2, 32), (1, 64), (3, 32))
NETS: dict[str, Callable[[], nn.Module]] = {
    "unet": lambda: nets.UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2)),
    "basic_unet": lambda: nets.BasicUNet(2, 1, 2, features=(4, 4, 8, 8, 16, 4)),
    "seg_resnet": lambda: nets.SegResNet(2, 8, 1, 2, blocks_down=(1, 1), blocks_up=(1,)),
    "dynunet": lambda: nets.DynUNet(
        2, 1, 2, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2]
    ),
    "attention_unet": lambda: nets.AttentionUnet(2, 1, 2, channels=(4, 8), strides=(2,)),
    "vnet": lambda: nets.VNet(2, 1, 2),
    "auto_encoder": lambda: nets.AutoEncoder(2, 1, 1, channels=(4, 8), strides=(2, 2)),
}


def vit() -> Case:
    model = nets.ViT(1, (16, 16), (8, 8), 16, 32, 2, 2, spatial_dims=2, classification=True)
    return Case(model, [(torch.randn(b, 1, 16, 16),) for b in (3, 1, 2)])


PROGRAMS = {name: partial(flat, make, SMALL) for name, make in NETS.items()} | {
    make.__name__: make for make in (vit, dice, dice_metric, sliding_window)
}
