"""torch's `DynamicInt` as an argument."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.sym_node import DynamicInt

import anyshape


def f(x: Any, y: Any, *, z: Any = 0) -> Any:
    return torch.tensor([x + y + z]) + torch.zeros(abs(x) + 2).sum()


def test_one_program_from_the_first_call_on() -> None:
    compiled = anyshape.compile(f, fullgraph=True)
    one, three = DynamicInt(1), DynamicInt(3)
    assert torch.equal(compiled(one, one, z=three), f(1, 1, z=3))
    for x, y, z in ((2, 2, 0), (-1, -1, 2), (3, 4, 5)):
        assert torch.equal(compiled(x, y, z=z), f(x, y, z=z))
    assert torch.equal(compiled(three, one, z=one), f(3, 1, z=1))
    assert compiled.stats.traces == 1


def test_what_is_not_marked_is_static_at_first() -> None:
    compiled = anyshape.compile(lambda x, n: x * n, fullgraph=True)
    compiled(torch.ones(2), DynamicInt(3))
    compiled(torch.ones(2), 4)
    assert compiled.stats.traces == 1
    compiled(torch.ones(3), 4)
    assert compiled.stats.traces == 2


def test_without_what_the_history_learns_the_second_number_is_traced(monkeypatch: Any) -> None:
    compiled = anyshape.compile(lambda x, n: x * n, fullgraph=True)
    monkeypatch.setattr(compiled.history, "learn", lambda _: None)
    compiled(torch.ones(2), DynamicInt(3))
    compiled(torch.ones(2), 4)
    assert compiled.stats.traces == 2


def test_an_attribute_of_a_module() -> None:
    class Adds(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.i: Any = DynamicInt(1)

        def forward(self, x: Any) -> Any:
            return torch.tensor([x + self.i])

    module = Adds()
    compiled = anyshape.compile(module, fullgraph=True)
    assert torch.equal(compiled(DynamicInt(0)), module(0))
    module.i = -2
    assert torch.equal(compiled(-1), module(-1))
