"""What code of torch asks about its tensors inside a trace is answered as in eager execution."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, overrides

import anyshape


class Meter(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


def test_overrides() -> None:
    parameter, meter = nn.Parameter(torch.ones(2)), torch.ones(2).as_subclass(Meter)

    def fn(x: Any) -> Any:
        return (
            x * 1,
            overrides.has_torch_function((x, 1, parameter)),
            overrides.has_torch_function_unary(x),
            overrides.has_torch_function_variadic(x, parameter),
            overrides.has_torch_function((x, meter)),
            overrides.is_tensor_like(x),
            type(x) is torch.Tensor,
            torch.is_tensor(x),
        )

    want = fn(torch.ones(3))[1:]
    assert want == (False, False, False, True, True, True, True)
    assert anyshape.compile(fn)(torch.ones(3))[1:] == want


MODULES = {
    "layer": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    "norm first": lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True),
    "attention": lambda: nn.MultiheadAttention(8, 2, batch_first=True),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_the_dtypes_of_whole_layers(name: str, autocast: bool, grad: bool) -> None:
    torch.manual_seed(0)
    module, x = MODULES[name]().eval(), torch.randn(2, 3, 8)

    def fn(x: Any) -> Any:
        return module(x, x, x)[0] if name == "attention" else module(x)

    compiled = anyshape.compile(fn)
    for n in (2, 3, 1):
        given = x[:1].expand(n, 3, 8).contiguous()
        with torch.set_grad_enabled(grad), torch.autocast("cpu", enabled=autocast):
            want, got = fn(given), compiled(given)
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want)
