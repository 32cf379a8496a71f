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


def test_random_numbers_are_not_drawn_for_good():
    module = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Dropout())
    torch.manual_seed(3)
    export(module, (torch.ones(5, 7),))
    drawn = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(2), drawn)


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
