"""Many models of transformers, traced once with dynamic batch and length, at other sizes."""

from __future__ import annotations

import pytest
import torch
from torch.utils import _pytree as pytree

from anyshape import config
from anyshape.trace import capture
from tests.differential.agree import KINDS, Dynamic
from tests.differential.zoo import ZOO, build

B, S = 6, 7


@pytest.mark.parametrize("name", ZOO)
def test_model(name: str) -> None:
    model = build(name)
    where = {B: {"min": 1}, S: {"min": 2}, S + 2: {"min": 2}}
    for kind in KINDS:
        with config.patch(specialize_zero_one=False):
            captured = capture(model.module, (), model.inputs(B, S), dynamic=Dynamic(kind, where))
        for sizes in ((B, S), (1, 5), (2, 11)):
            inputs = model.inputs(*sizes)
            actual, expected = captured(**inputs), model.module(**inputs)
            torch.testing.assert_close(pytree.tree_leaves(actual), pytree.tree_leaves(expected))
