"""The named tuples in which torch returns several results."""

from __future__ import annotations

from typing import Any

import torch


def named(name: str) -> Any:
    """The class of the named tuple that an op returns; it takes a list."""
    return getattr(torch.return_types, name)
