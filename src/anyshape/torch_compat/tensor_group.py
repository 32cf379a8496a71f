"""Lists of tensors split by device and dtype, as optimizers do before calls over many tensors.

The function in C looks at tensors themselves, and knows nothing of traced ones.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.utils import _foreach_utils

GROUPERS: Final[tuple[Any, ...]] = (
    torch._C._group_tensors_by_device_and_dtype,
    _foreach_utils._group_tensors_by_device_and_dtype,
)


def grouped_indices(kinds: list[tuple[torch.device, torch.dtype]]) -> dict[Any, list[int]]:
    """The places of tensors by their device and dtype, in the order in which torch gives them."""
    samples: list[torch.Tensor | None] = [
        torch.empty(0, device=device, dtype=dtype) for device, dtype in kinds
    ]
    found = torch._C._group_tensors_by_device_and_dtype([samples], True)
    return {key: list(places) for key, (_, places) in found.items()}
