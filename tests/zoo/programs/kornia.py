"""Filters, color, geometry and losses of kornia."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import kornia
import torch

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((2, 16, 20), (1, 24, 17), (3, 33, 12))


def images() -> list[Any]:
    return [(torch.rand(b, 3, h, w),) for b, h, w in SIZES]


def on_images(make: Callable[[], Any]) -> Case:
    """A function or module of images."""
    return Case(make(), images())


def homography() -> Case:
    def warp(x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return kornia.geometry.warp_perspective(x, h, (x.shape[-2], x.shape[-1]))

    sizes = ((2, 12), (1, 9))
    eye = torch.eye(3)[None]
    calls: list[Any] = [(torch.rand(b, 3, n, n), eye.repeat(b, 1, 1) * 1.1) for b, n in sizes]
    return Case(warp, calls)


def rotate() -> Case:
    calls: list[Any] = [(torch.rand(b, 3, n, n), torch.rand(b) * 90) for b, n in ((2, 12), (1, 9))]
    return Case(kornia.geometry.rotate, calls)


def losses() -> Case:
    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (
            kornia.losses.ssim_loss(x, y, 5)
            + kornia.losses.total_variation(x).mean()
            + kornia.losses.psnr_loss(x, y, 1.0)
        )

    calls: list[Any] = [
        (torch.rand(b, 3, n, n), torch.rand(b, 3, n, n)) for b, n in ((2, 12), (1, 9))
    ]
    return Case(loss, calls)


def augmentation() -> Case:
    model = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5),
        kornia.augmentation.RandomBrightness((0.8, 1.2), p=1.0),
    )
    return Case(model, images(), trains=False)


def sift() -> Case:
    model = kornia.feature.SIFTDescriptor(16)
    return Case(model, [(torch.rand(b, 1, 16, 16),) for b in (4, 1, 7)], trains=False)


def quaternion() -> Case:
    def rotate_points(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        r = kornia.geometry.quaternion_to_rotation_matrix(kornia.geometry.normalize_quaternion(q))
        return (r @ x[..., None])[..., 0]

    return Case(rotate_points, [(torch.randn(n, 4), torch.randn(n, 3)) for n in (5, 1, 0, 8)])


SIMPLE: dict[str, Callable[[], Any]] = {
    "gaussian_blur": lambda: kornia.filters.GaussianBlur2d((3, 3), (1.0, 1.0)),
    "canny": kornia.filters.Canny,
    "median_blur": lambda: kornia.filters.MedianBlur((3, 3)),
    "bilateral": lambda: kornia.filters.BilateralBlur((3, 3), 0.1, (1.0, 1.0)),
    "color": lambda: lambda x: kornia.color.hsv_to_rgb(kornia.color.rgb_to_hsv(x)),
    "lab": lambda: kornia.color.rgb_to_lab,
    "clahe": lambda: lambda x: kornia.enhance.equalize_clahe(x, 40.0, (2, 2)),
    "harris": lambda: lambda x: kornia.feature.harris_response(x[:, :1]),
    "pyramid": lambda: lambda x: kornia.geometry.build_pyramid(x, 3),
    "morphology": lambda: lambda x: kornia.morphology.opening(x, torch.ones(3, 3)),
}

PROGRAMS = {name: partial(on_images, make) for name, make in SIMPLE.items()} | {
    make.__name__: make for make in (homography, rotate, losses, augmentation, sift, quaternion)
}
