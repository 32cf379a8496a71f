"""`torch.tensor` of truths about sizes, in programs for backends that are given a graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.interop import fx_graph


def alone(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(x.size(0) // 3 == 0)


def in_a_list(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([x.size(0) > 2, True, x.size(0) == 1])


def beside_numbers(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([[x.size(0) > 2, x.size(0)], [False, 3]])


def as_a_float(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor(x.size(0) > 2, dtype=torch.float64)


def used(x: torch.Tensor) -> torch.Tensor:
    return torch.where(torch.tensor(x.size(0) > 2), x, -x)


def graph(module: Any, _: Any) -> Any:
    """A backend that runs the graph as it is."""
    return module.forward


PROGRAMS = [alone, in_a_list, beside_numbers, as_a_float, used]


@pytest.mark.parametrize("f", PROGRAMS)
def test_truths(f: Any) -> None:
    compiled = anyshape.compile(f, backend=graph, dynamic=True, fullgraph=True)
    for n in (4, 0, 1, 2, 3, 7):
        x = torch.arange(n) + 1.0
        ours, eager = compiled(x), f(x)
        assert ours.dtype == eager.dtype
        assert torch.equal(ours, eager)


def test_without_numbers_the_backend_fails(monkeypatch: Any) -> None:
    monkeypatch.setattr(fx_graph, "_with_numbers", lambda x: x)
    with pytest.raises(anyshape.BackendError, match="SymBool"):
        anyshape.compile(alone, backend=graph, dynamic=True, fullgraph=True)(torch.ones(4))
