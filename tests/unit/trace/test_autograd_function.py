"""A user's autograd.Function keeps its backward in a traced program."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.trace import capture


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, k: int) -> Any:
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 100 * ctx.k, None


class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x + 1

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        return a * 10 + b


class View(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x[:1]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


@pytest.mark.parametrize("size", [0, 1, 3])
def test_gradients(size: int) -> None:
    def f(x: Any) -> Any:
        a, b = Both.apply(x)
        return Scaled.apply(a, 3) + b

    captured = capture(f, (torch.ones(2, requires_grad=True),), dynamic="unbacked")
    x = torch.ones(size, requires_grad=True)
    twin = torch.ones(size, requires_grad=True)
    result = captured(x)
    result.sum().backward()
    f(twin).sum().backward()
    assert torch.equal(result, f(twin))
    assert torch.equal(x.grad, twin.grad)


def test_without_gradients_its_ops_are_recorded() -> None:
    captured = capture(lambda x: Scaled.apply(x, 3), (torch.ones(2),), dynamic="unbacked")
    assert "apply" not in captured.code
    assert torch.equal(captured(torch.ones(4)), torch.full((4,), 3.0))
    assert torch.autograd.Function.apply.__func__.__module__ == "torch.autograd.function"


def test_views() -> None:
    captured = capture(lambda x: View.apply(x), (torch.ones(2, requires_grad=True),))  # noqa: PLW0108
    x = torch.ones(2, requires_grad=True)
    result = captured(x)
    assert result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert result.grad_fn is not None


def test_compiled() -> None:
    compiled = anyshape.compile(lambda x: Scaled.apply(x, 3) * 2, dynamic="unbacked")
    for size in (2, 0, 1):
        x = torch.ones(size, requires_grad=True)
        compiled(x).sum().backward()
        assert torch.equal(x.grad, torch.full((size,), 600.0))
    assert len(compiled.entries) == 1
