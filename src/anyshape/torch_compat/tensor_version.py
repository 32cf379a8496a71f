"""The version of a tensor: how often it was changed in place.

Autograd saves it with each tensor that a backward needs, and raises if it is another by then.
"""

from __future__ import annotations

import torch


def version_of(t: torch.Tensor) -> int | None:
    """The version; None for an inference tensor, which has none.

    Without it a call that is run again could not tell which tensors it had changed.
    """
    return None if t.is_inference() else t._version


def set_version(t: torch.Tensor, version: int) -> None:
    """Make the version what it was before a change that has been undone.

    Without it a backward over a tensor that was put back would raise, as if it had changed.
    """
    torch._C._autograd._unsafe_set_version_counter((t,), (version,))
