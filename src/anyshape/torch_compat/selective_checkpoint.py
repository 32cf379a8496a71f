"""Selective checkpoints: modes of torch that keep the results of some ops for the backward pass.

What they keep is what would be computed again, so a program computes the same without them. Without
these names a program with such a checkpoint is refused, as with any mode that sees the ops.
"""

from __future__ import annotations

from typing import Any

from torch.utils import checkpoint

_FORWARD: Any = getattr(checkpoint, "_CachingTorchDispatchMode", None)


def policy_of(mode: Any) -> Any:
    """The function that a mode asks which results to keep; None for another kind of mode."""
    if _FORWARD is None or type(mode) is not _FORWARD:
        return None
    return mode.policy_fn
