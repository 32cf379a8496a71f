from __future__ import annotations

import pytest
import torch

from anyshape.torch_compat.tensor_group import GROUPERS, grouped_indices


@pytest.mark.parametrize("group", GROUPERS)
def test_the_order_of_groups_is_that_of_torch(group):
    dtypes = [torch.float64, torch.float32, torch.float64, torch.bfloat16, torch.float32]
    tensors = [torch.ones(2, dtype=dtype) for dtype in dtypes]
    found = group([tensors, []], True)
    kinds = [(t.device, t.dtype) for t in tensors]
    assert [(key, places) for key, (_, places) in found.items()] == [
        *grouped_indices(kinds).items()
    ]
    assert all(lists[1] == [] for lists, _ in found.values())
    assert all(places == [] for _, places in group([tensors], False).values())
