"""`module()` of recurrent, lazy, nested and repeated modules."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import nn

from anyshape import export


class Recurrent(nn.Module):
    """The weights of an LSTM, which it also keeps in a flat list."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True)
        self.head = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x.unsqueeze(1))[0].squeeze(1))


class Lazy(nn.Module):
    """Layers whose sizes the first call decides."""

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.net = nn.Sequential(nn.LazyLinear(6), nn.LazyBatchNorm1d(), nn.LazyLinear(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)


class Nested(nn.Module):
    """Containers in containers, a block that occurs twice, parameters in lists and dicts."""

    def __init__(self) -> None:
        super().__init__()
        block = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4)))
        self.blocks = nn.ModuleList([block, nn.Sequential(nn.Tanh(), block)])
        self.by_name = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.ModuleList([nn.Linear(4, 4)])})
        self.scales = nn.ParameterList([torch.ones(4), torch.full((4,), 2.0)])
        self.shifts = nn.ParameterDict({"x": nn.Parameter(torch.ones(4))})
        self.plain = [nn.Parameter(torch.ones(4))]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        x = self.by_name["b"][0](self.by_name["a"](x))
        return x * self.scales[0] * self.scales[1] + self.shifts["x"] * self.plain[0]


@pytest.mark.parametrize("make", [Recurrent, Lazy, Nested])
def test_names_and_gradients(make: Any) -> None:
    torch.manual_seed(0)
    model = make()
    program = export(model, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    twin, module = copy.deepcopy(model), copy.deepcopy(program.module())
    want, got = twin.state_dict(), module.state_dict()
    assert [*got] == [*want]
    assert all(torch.equal(got[name], want[name]) for name in want)
    assert {n for n, m in module.named_modules() if m.anyshape_class} <= {
        n for n, _ in twin.named_modules()
    }
    for n in (2, 5, 7):
        x = torch.randn(n, 4)
        results = [m(x) for m in (twin, module)]
        torch.testing.assert_close(*results)
        for result in results:
            result.pow(2).sum().backward()
    grads = [{n: p.grad for n, p in m.named_parameters()} for m in (twin, module)]
    assert [*grads[0]] == [*grads[1]]
    torch.testing.assert_close(*grads)
    program.load_state_dict(twin.state_dict())
    torch.testing.assert_close([*program.state_dict().values()], [*want.values()])
