"""Programs that torch made, or that functions of torch are wrapped around."""

from __future__ import annotations

import pytest
import torch
from torch.fx import traceback as fx_traceback

from anyshape import export


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.count


class Annotated(Layer):
    @fx_traceback.annotate_fn({"stage": 1})
    def forward(self, x):
        with fx_traceback.annotate({"part": 2}):
            return self.linear(x)


class CompiledInside(Layer):
    def forward(self, x):
        return torch.compile(lambda y: y @ y.T)(self.linear(x))


class DisabledInside(Layer):
    @torch.compiler.disable(recursive=False)
    def inner(self, x):
        return self.linear(x)

    def forward(self, x):
        return self.inner(x) + 1


def exported(module):
    dim = torch.export.Dim("rows", min=2)
    return torch.export.export(module, (torch.randn(4, 3),), dynamic_shapes=({0: dim},)).module()


@pytest.mark.parametrize("convert", [torch.fx.symbolic_trace, exported])
def test_a_module_of_fx_is_exported(convert):
    module = convert(Layer())
    program = export(
        module, (torch.randn(4, 3),), dynamic_shapes=({0: "rows"},), allow_partial=True
    )
    for rows in (2, 5):
        x = torch.randn(rows, 3)
        assert torch.equal(program(x), module(x))


@pytest.mark.parametrize("kind", [Annotated, CompiledInside, DisabledInside])
def test_a_function_in_a_wrapper_of_torch_is_traced(kind):
    module = kind()
    program = export(module, (torch.randn(4, 3),))
    x = torch.randn(4, 3)
    assert torch.equal(program(x), module.linear(x) if kind is Annotated else eager(module, x))


def eager(module, x):
    y = module.linear(x)
    return y @ y.T if type(module) is CompiledInside else y + 1
