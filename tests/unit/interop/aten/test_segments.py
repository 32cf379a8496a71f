"""Branches on data as `torch.cond`, loops on data as `while_loop`, and what is refused."""

from __future__ import annotations

import pytest
import torch

from anyshape import export
from anyshape.errors import UnsupportedError
from anyshape.interop.aten.flow import Flow
from tests.unit.interop.aten.test_program import forms, need_equal

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures
WEIGHT = torch.randn(4)


def one_side_passes_its_input(x):
    z = x if x.sum() > 0 else x - WEIGHT
    return z * 3, z


def nested_with_numbers(x):
    if x.sum() > 0:
        if x.max() > 0.5:
            return x + 1, x.shape[0]
        return x.clone(), 3
    return x[:, 1:], 4


def other_sizes(x):
    y = x[:1] if x.sum() > 0 else x
    return y * 2


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x):
        y = self.first(x)
        if y.sum() > 0:
            y = self.second(y).relu()
        return y + x


def counted_rounds(x):
    i = 0
    while x.sum() < 10:
        x = x.abs() + 1
        i += 1
    return x, i


@pytest.mark.parametrize(
    ("f", "op"),
    [
        (one_side_passes_its_input, "cond"),
        (nested_with_numbers, "cond"),
        (other_sizes, "cond"),
        (Net(), "cond"),
        (counted_rounds, "while_loop"),
    ],
)
def test_against_eager(f, op):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    targets = [str(n.target) for g in program.graph_module.modules() for n in g.graph.nodes]
    assert op in targets
    made = forms(program)
    for n in (3, 1, 2):
        for factor in (1, -1, 0.1):
            x = torch.rand(n, 4) * factor
            for name, module in made.items():
                need_equal(module(x), f(x), name)


def other_structures(x):
    return x + 1 if x.sum() > 0 else (x * 2,)


def other_dtypes(x):
    return x + 1 if x.sum() > 0 else (x * 2).double()


def changes_memory(x):
    y = x.clone()
    if x.sum() > 0:
        y.add_(1)
    return y * 2


def grows(x):
    y = x
    while y.sum() < 10:
        y = torch.cat([y, x.abs() + 1])
    return y


def draws(x):
    y = x.abs()
    while (y + torch.rand(())).sum() < 20:
        y = y + 1
    return y


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (other_structures, "other structures"),
        (other_dtypes, r"float32 and torch\.float64"),
        (changes_memory, r"changes a tensor from outside.*test_segments\.py"),
        (grows, "change size"),
        (draws, "random numbers"),
    ],
)
def test_what_does_not_fit_is_refused(f, why):
    program = export(f, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    with pytest.raises(UnsupportedError, match=rf"(?s){why}"):
        program.to_torch()


class Ways:
    """A branch whose answers lead to other segments."""

    def __init__(self, *targets):
        self.targets = dict(enumerate(targets))


def test_where_sides_meet():
    flow = Flow([(None, Ways(1, 2)), (None, Ways(3)), (None, Ways(3)), (None, None)])
    assert flow.join([1, 2], None) == 3
    apart = Flow([(None, Ways(1, 2)), (None, None), (None, None)])
    assert apart.join([1, 2], None) is None
    loop = Flow([(None, Ways(0, 1)), (None, None)])
    assert loop.is_in_loop(0, 0, None)
    assert not loop.is_in_loop(1, 0, None)


def test_a_wrong_side_is_noticed():
    """The comparison finds a program that takes the other side."""
    program = export(
        one_side_passes_its_input, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},)
    ).to_torch()
    node = next(n for n in program.graph.nodes if n.target is torch.ops.higher_order.cond)
    test, then, other, operands = node.args
    node.args = (test, other, then, operands)
    x = torch.ones(2, 4)
    with pytest.raises(AssertionError):
        need_equal(program.module()(x), one_side_passes_its_input(x))
