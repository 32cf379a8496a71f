from __future__ import annotations

import warnings

import torch
from torch.export import Dim

from anyshape.torch_compat import torch_program as ep


class Two(torch.nn.Module):
    def forward(self, x, y):
        return x * 2, y.reshape(2, -1)


def program():
    shapes = ({0: Dim("rows", min=3, max=9)}, {0: 2 * Dim("half")})
    call = (torch.randn(5, 2), torch.randn(8))
    return torch.export.export(Two(), call, dynamic_shapes=shapes)


def values(made):
    return [node.meta["val"] for node in made.graph.nodes if node.op == "placeholder"]


def test_symbolic_sizes_ranges_and_names():
    made = program()
    x, y = values(made)
    rows, half = ep.symbolic_size(x.size(0)), ep.symbolic_size(y.size(0))
    assert rows is not None
    assert half is not None
    assert rows.symbols == (rows.text,)
    assert (rows.hint, half.hint) == (5, 8)
    (inner,) = half.symbols
    assert half.text == f"2*{inner}"
    assert half.value({inner: 7}) == 14
    names = ep.names_of_symbols([x, y, 3, None])
    assert (names[rows.text], names[inner]) == ("rows", "half")
    assert ep.ranges_of(made)[rows.text] == (3, 9)
    assert ep.ranges_of(made)[half.text] == (0, None)


def test_a_size_that_is_a_constant():
    made = program()
    size = values(made)[0].size(0)
    assert ep.symbolic_size(size - size) is None


def test_a_module_without_example_inputs_checks_its_inputs_too():
    made = program()
    made.example_inputs = None
    assert not hasattr(made.module(), ep.GUARDS)
    call = ((torch.randn(5, 2), torch.randn(8)), {})
    assert hasattr(ep.module_with_guards(made, call), ep.GUARDS)
    assert made.example_inputs is None


def test_the_key_of_an_unknown_module():
    class Sizes(torch.nn.Module):
        def forward(self, x):
            return x.new_zeros(x.size(0))

    shapes = ({0: Dim("rows")},)
    made = torch.export.export(Sizes(), (torch.randn(5, 2),), dynamic_shapes=shapes)
    stacks = [node.meta.get("nn_module_stack") or {} for node in made.graph.nodes]
    assert any(ep.NO_MODULE in stack for stack in stacks)


def test_levels_of_transforms():
    class Mapped(torch.nn.Module):
        def forward(self, x):
            return torch.vmap(torch.sin)(x)

    exported = torch.export.export(Mapped(), (torch.ones(3),))
    assert ep.has_levels(exported)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its pytree
        flat = ep.without_levels(exported)
    assert not ep.has_levels(flat)
    assert torch.equal(flat.module()(torch.ones(3)), torch.ones(3).sin())
