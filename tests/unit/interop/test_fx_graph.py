"""The graph as a `torch.fx.GraphModule`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.interop import to_fx
from anyshape.trace import capture


def program(x: torch.Tensor, y: torch.Tensor) -> Any:
    n = x.size(0)
    z = (x + y).view(n, -1, 2).transpose(0, 1)
    values, places = torch.max(z, 1)
    kept = x[x > 0]
    k = kept.shape[0]
    torch._check(k + n >= 1, lambda: "nothing left")
    top = torch.zeros(max(n, 3) * 2 + (n // 2) % 3)
    return z, values, places, kept, k + n, top, (n + 1) / 2


@pytest.mark.parametrize("dynamic", ["backed", "unbacked"])
def test_it_computes_the_same(dynamic: str) -> None:
    captured = capture(program, (torch.randn(5, 4), torch.randn(5, 4)), dynamic=dynamic)
    module = to_fx(captured)
    assert isinstance(module, torch.fx.GraphModule)
    for n in (2, 3, 7):
        x, y = torch.randn(n, 4), torch.randn(n, 4)
        for got, want in zip(module(x, y), program(x, y), strict=True):
            if isinstance(want, torch.Tensor):
                torch.testing.assert_close(got, want)
            else:
                assert got == want


def test_shapes_lines_and_asserts_are_in_it() -> None:
    captured = capture(program, (torch.randn(5, 4), torch.randn(5, 4)), dynamic="unbacked")
    nodes = list(to_fx(captured).graph.nodes)
    shapes = [str(n.meta["shape"]) for n in nodes if "shape" in n.meta]
    assert shapes[:2] == ["(u0, u1)", "(u2, u3)"]
    assert any("test_fx_graph.py" in n.meta.get("stack_trace", "") for n in nodes)
    checks = [n for n in nodes if n.target is torch._assert]
    assert any("broadcast" in n.args[1] for n in checks)
    module = to_fx(captured)
    with pytest.raises(AssertionError, match="broadcast"):
        module(torch.randn(5, 4), torch.randn(6, 4))


def test_it_can_be_compiled_by_torch() -> None:
    def f(x: torch.Tensor) -> Any:
        return torch.relu(x).sum(0) * x.size(0)

    module = to_fx(capture(f, (torch.randn(5, 4),), dynamic="unbacked"))
    compiled = torch.compile(module, backend="eager", fullgraph=True, dynamic=True)
    x = torch.randn(7, 4)
    torch.testing.assert_close(compiled(x)[0], f(x))


def test_parameters_stay_parameters() -> None:
    linear = torch.nn.Linear(3, 3)
    module = to_fx(capture(linear, (torch.randn(2, 3),), dynamic="backed"))
    assert {id(p) for p in module.parameters()} == {id(p) for p in linear.parameters()}
