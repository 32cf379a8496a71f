"""Sparse activations of entmax."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import entmax
import torch

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable


def activation(fn: Callable[..., Any]) -> Case:
    """An activation over the last dimension."""
    return Case(fn, [(torch.randn(b, n),) for b, n in ((3, 6), (1, 9), (2, 1))])


PROGRAMS = {
    name: partial(activation, getattr(entmax, name))
    for name in ("sparsemax", "entmax15", "entmax_bisect", "sparsemax_bisect", "normmax_bisect")
}
