"""How functions of torch are spelled."""

from __future__ import annotations

import pytest
import torch

from anyshape.trace.graph.spelling import path_of, paths


@pytest.mark.parametrize("name", ["mm", "add", "cat", "softmax"])
def test_a_function_has_the_name_of_its_op(name: str) -> None:
    """`torch.dsmm` equals `torch.mm`, and no op has its name."""
    assert path_of(getattr(torch, name)) == f"torch.{name}"


def test_a_path_leads_to_its_function() -> None:
    replaced = ("torch.manual_seed", "torch.seed")  # by torch._dynamo, if some test imported it
    for func, path in paths().items():
        if path in replaced:
            continue
        if path.startswith("torch.") and path.count(".") == 1:
            assert getattr(torch, path.partition(".")[2]) == func
