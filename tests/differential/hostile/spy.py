"""An op whose kernel tells under which settings of the process it ran."""

from __future__ import annotations

from typing import Final

import torch

from tests.differential.hostile.process import FLAGS

_NAMES: Final = (
    "deterministic", "precision", "mkldnn", "anomaly", "flash", "math", "frugal", "cudnn",
    "benchmark", "tf32", "filled", "always",
)  # fmt: skip


def settings(x: torch.Tensor) -> torch.Tensor:
    """The settings as numbers, as a kernel finds them."""
    told: torch.Tensor = torch.ops.hostile_spy.settings(x.detach())
    return told


@torch.library.custom_op("hostile_spy::settings", mutates_args=())
def _settings(x: torch.Tensor) -> torch.Tensor:
    """The settings as numbers."""
    told = [str(FLAGS[name][0]()) for name in _NAMES]
    return x.new_tensor([float(sum(map(ord, word))) for word in told])


@_settings.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(len(_NAMES))
