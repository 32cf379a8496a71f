"""What code of torch asks about its tensors inside a trace is answered as in eager execution."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn, overrides

import anyshape
from anyshape.torch_compat.torch_function import without_mode


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


class Passes(overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def modes_told() -> tuple[Any, ...]:
    depth = torch._C._len_torch_function_stack()
    return (
        depth,
        torch._C._is_torch_function_mode_enabled(),
        torch._C._is_torch_function_enabled(),
        overrides._get_current_function_mode(),
        overrides._get_current_function_mode_stack(),
        [torch._C._get_function_stack_at(i) for i in range(depth)],
        torch._C._len_torch_dispatch_stack(),
        overrides.is_tensor_method_or_property(torch.Tensor.add),
    )


def in_own_mode(x: Any) -> Any:
    with Passes() as mode:
        depth, enabled, *_, held, _, _ = modes_told()
        return x * depth, depth, enabled, held == [mode]


def in_a_function(x: Any) -> Any:
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * (2 + torch._C._len_torch_function_stack())

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    return Scale.apply(x)


def without_subclasses(x: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return x + 1, torch._C._is_torch_function_mode_enabled()


@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize(
    "fn", [lambda x: (x + 1, *modes_told()), in_a_function, without_subclasses]
)
def test_modes(fn: Any, fullgraph: bool) -> None:
    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for n in (3, 3, 2):
        x = torch.ones(n)
        assert str(compiled(x)) == str(fn(x))
    assert compiled.stats.hits >= 1
    with torch.device("cpu"):  # a mode, too
        assert str(compiled(torch.ones(3))) == str(fn(torch.ones(3)))
    assert str(compiled(torch.ones(3))) == str(fn(torch.ones(3)))


def test_a_mode_of_the_program_sees_its_calls() -> None:
    compiled = anyshape.compile(in_own_mode)
    for n in (3, 3, 2):
        assert str(compiled(torch.ones(n))) == str(in_own_mode(torch.ones(n)))
    with pytest.raises(anyshape.EffectError, match="a Passes, which sees the ops, is entered"):
        anyshape.compile(in_own_mode, fullgraph=True)(torch.ones(3))


def test_the_mode_of_a_trace_would_be_seen() -> None:
    """The stack with a mode on it: what a program would be told without the substitutes."""
    with Passes() as mode:
        assert modes_told()[:4] == (1, True, True, mode)
        with without_mode(mode) as is_innermost:
            assert is_innermost
            assert modes_told()[:4] == (0, False, True, None)
        with Passes() as other, without_mode(mode) as is_innermost:
            assert not is_innermost
            assert modes_told()[5] == [other]
        with without_mode(mode), without_mode(mode):  # where it is not on the stack
            assert modes_told()[0] == 0
        assert modes_told()[5] == [mode]


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
