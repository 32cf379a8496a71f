"""Calls of a compiled function by a compiler of torch, on tensors without data."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

import anyshape


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_function_inside_of_a_custom_op(dynamic: Any, backend: str) -> None:
    inner = anyshape.compile(lambda x: x.sin().cos(), fullgraph=True, dynamic=dynamic)
    with torch.library._scoped_library("inside", "FRAGMENT") as library:
        library.define("curved(Tensor x) -> Tensor")
        library.impl("curved", inner, "CompositeExplicitAutograd")
        outer = anyshape.compile(
            lambda x: torch.ops.inside.curved.default(x) + x,
            fullgraph=True,
            dynamic=dynamic,
            backend=backend,
        )
        for n in (3, 0, 1, 4):
            x = torch.randn(n)
            torch.testing.assert_close(outer(x), x.sin().cos() + x)


def test_tensors_without_data_pass_through() -> None:
    compiled = anyshape.compile(lambda x: x.t() @ x, fullgraph=True)
    with FakeTensorMode() as mode:
        result = compiled(mode.from_tensor(torch.ones(3, 2)))
    assert type(result) is type(mode.from_tensor(torch.ones(1)))
    assert tuple(result.shape) == (2, 2)
    assert (compiled.stats.traces, compiled.stats.eager) == (0, 1)
    assert torch.equal(compiled(torch.ones(3, 2)), torch.full((2, 2), 3.0))
