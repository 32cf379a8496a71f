"""Functional metrics of torchmetrics."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torchmetrics import functional as metrics

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def classes(fn: Callable[..., Any]) -> Case:
    """A metric of predicted classes."""
    calls: list[Any] = [
        (torch.randn(n, 4).softmax(-1), torch.randint(0, 4, (n,))) for n in (9, 1, 20)
    ]
    return Case(fn, calls, trains=False)


def numbers(fn: Callable[..., Any]) -> Case:
    """A metric of predicted numbers."""
    return Case(fn, [(torch.rand(n), torch.rand(n)) for n in (9, 2, 20)], trains=False)


def images(fn: Callable[..., Any]) -> Case:
    """A metric of images."""
    sizes = ((2, 16), (1, 20))
    calls: list[Any] = [(torch.rand(b, 1, n, n), torch.rand(b, 1, n, n)) for b, n in sizes]
    return Case(fn, calls, trains=False)


PROGRAMS = {
    "accuracy": partial(classes, partial(metrics.accuracy, task="multiclass", num_classes=4)),
    "f1_score": partial(classes, partial(metrics.f1_score, task="multiclass", num_classes=4)),
    "auroc": partial(classes, partial(metrics.auroc, task="multiclass", num_classes=4)),
    "confusion": partial(
        classes, partial(metrics.confusion_matrix, task="multiclass", num_classes=4)
    ),
    "mean_squared_error": partial(numbers, metrics.mean_squared_error),
    "pearson": partial(numbers, metrics.pearson_corrcoef),
    "spearman": partial(numbers, metrics.spearman_corrcoef),
    "r2_score": partial(numbers, metrics.r2_score),
    "psnr": partial(images, partial(metrics.image.peak_signal_noise_ratio, data_range=1.0)),
}
