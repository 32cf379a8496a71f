from __future__ import annotations

import pytest
import torch

from anyshape import export


class Lazy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.LazyLinear(4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x, scale=1.0):
        return self.norm(self.linear(x)) * scale


def test_a_lazy_module_gets_its_parameters_before_the_trace():
    module, x = Lazy(), torch.randn(5, 7)
    program = export(module, (x,), {"scale": 2.0}, dynamic_shapes={"x": {0: "rows"}, "scale": None})
    assert module.linear.weight.shape == (4, 7)
    assert torch.equal(module.norm.running_mean, torch.zeros(4))
    module.eval()
    program = export(module, (x,), {"scale": 2.0}, dynamic_shapes={"x": {0: "rows"}, "scale": None})
    y = torch.randn(3, 7)
    assert torch.equal(program(y, scale=2.0), module(y, 2.0))


def test_the_example_is_not_changed():
    class Doubling(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.LazyLinear(4)

        def forward(self, x):
            return self.linear(x.mul_(2))

    x = torch.ones(5, 7)
    export(Doubling(), (x,))
    assert torch.equal(x, torch.ones(5, 7))


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_numbers_are_drawn_as_the_first_call_of_eager_execution_draws_them(rows):
    def make():
        torch.manual_seed(3)
        return torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Dropout())

    x = torch.ones(rows, 7)
    eager = make()
    want = eager(x), torch.rand(2)
    module = make()
    program = export(module, (torch.ones(5, 7),), dynamic_shapes=({0: "rows"},))
    assert torch.equal(module[0].weight, eager[0].weight)
    assert torch.equal(program(x), want[0])
    assert torch.equal(torch.rand(2), want[1])
    assert not module[0]._forward_pre_hooks


def test_parameters_are_drawn_before_other_numbers():
    module = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Dropout(), torch.nn.LazyLinear(2))
    torch.manual_seed(3)
    export(module, (torch.ones(5, 7),))
    after = torch.rand(2)
    torch.manual_seed(3)
    torch.nn.Linear(7, 4), torch.nn.Linear(4, 2)
    assert torch.equal(torch.rand(2), after)


def test_a_first_call_that_raises_changes_no_buffer():
    class Failing(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(7)
            self.linear = torch.nn.LazyLinear(4)

        def forward(self, x):
            self.norm(x)
            raise ValueError("no")

    module = Failing()
    with pytest.raises(ValueError, match="no"):
        export(module, (torch.randn(5, 7),))
    assert torch.equal(module.norm.running_mean, torch.zeros(7))
