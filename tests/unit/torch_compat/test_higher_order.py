from __future__ import annotations

import functools

import pytest
import torch

from anyshape.torch_compat import higher_order


@pytest.mark.parametrize("name", ["associative_scan", "map", "scan", "while_loop", "cond"])
def test_the_functions_are_functions(name):
    assert callable(getattr(higher_order, name))


def test_the_operators_are_those_of_graphs():
    module = torch.fx.symbolic_trace(lambda x: x)
    assert higher_order.OPERATORS["cond"](True, module, module, (torch.ones(1),)).item() == 1


@pytest.mark.parametrize("name", ["vmap", "grad", "grad_and_value", "jacrev", "jacfwd"])
def test_how_a_transformed_function_was_made(name):
    made = getattr(torch.func, name)(torch.sin)
    found = higher_order.transform_of(made)
    assert found.name == name
    assert found.function is torch.sin
    assert set(found.options) <= {
        "_preallocate_and_copy", "argnums", "chunk_size", "eager_transforms", "has_aux", "in_dims",
        "out_dims", "randomness",
    }  # fmt: skip


def test_any_other_function_was_not_transformed():
    assert higher_order.transform_of(functools.wraps(torch.sin)(lambda x: x)) is None


def test_scans_by_halves():
    (found,) = higher_order.generic_associative_scan(lambda a, b: [a + b], [torch.ones(5)])
    assert found.tolist() == [1, 2, 3, 4, 5]


def test_ops_on_copies():
    x = torch.zeros(3)
    (operator, by_copies) = next(iter(higher_order.FUNCTIONALIZED.items()))
    assert operator.name() == "auto_functionalized"
    _, changed = by_copies(torch.ops.aten.add_.Tensor, self=x, other=torch.ones(3))
    assert changed.tolist() == [1, 1, 1]
    assert x.tolist() == [0, 0, 0]


def test_levels_are_calls_of_graphs():
    class Mapped(torch.nn.Module):
        def forward(self, x):
            if len(higher_order.LEVELS) == 1:  # torch before 2.13 exports no jvp
                return torch.vmap(torch.sin)(x)
            return torch.vmap(torch.sin)(x), torch.func.jvp(torch.sin, (x,), (x,))

    graph = torch.export.export(Mapped(), (torch.ones(3),)).graph
    assert set(higher_order.LEVELS) <= {node.target for node in graph.nodes}
