"""Models of transformers, compiled: equal to eager execution at every size, with few programs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

import anyshape
from anyshape.errors import AnyshapeWarning
from tests.differential.zoo import ZOO, build

SIZES = [(3, 7), (1, 5), (2, 11), (1, 1), (4, 2)]


def compare(model: Any, dynamic: Any) -> Any:
    compiled = anyshape.compile(model.module, dynamic=dynamic)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnyshapeWarning)
        for sizes in SIZES:
            inputs = model.inputs(*sizes)
            actual, expected = compiled(**inputs), model.module(**inputs)
            assert type(actual) is type(expected)
            got, want = pytree.tree_leaves(actual), pytree.tree_leaves(expected)
            torch.testing.assert_close(got, want, equal_nan=True)
    return compiled


@pytest.mark.parametrize("name", ZOO)
def test_model(name: str) -> None:
    compare(build(name), None if len(name) % 2 else True)


@pytest.mark.parametrize("name", [name for i, name in enumerate(ZOO) if i % 3 == 0])
def test_one_entry_serves_all(name: str) -> None:
    compiled = compare(build(name), "unbacked")
    assert len(compiled.entries) <= 2, compiled.explain()
