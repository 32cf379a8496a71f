"""Numbers that are read off tensors which the program itself says are numbers of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.trace import capture

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (3, 0, 1, 7)


def steps(x: torch.Tensor) -> torch.Tensor:
    times = torch.tensor([0.0, 1.0])
    count = int((times[1] - times[0]).item() / 0.25)
    for i in range(count):
        x = x + torch.arange(4)[i] * 0.5
    return x


def dims(x: torch.Tensor) -> torch.Tensor:
    return x.sum(torch.arange(1, x.dim()).tolist())


def branch(x: torch.Tensor) -> torch.Tensor:
    weights = torch.tensor([0.5, 0.0, 0.5])
    if weights[1] == 0 and torch.equal(weights[::2], torch.full((2,), 0.5)):
        return x * weights.sum().item()
    return x


def counted(x: torch.Tensor) -> torch.Tensor:
    (kept,) = torch.where(torch.tensor([True, False, True]))
    return x.reshape(-1, 1).expand(-1, len(kept)) if len(kept) == 2 else x


def grid(x: torch.Tensor) -> torch.Tensor:
    rows, _ = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    return x + sum(sum(row) for row in rows.tolist())


PROGRAMS = [steps, dims, branch, counted, grid]


@pytest.mark.parametrize("fn", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_the_run_is_not_asked(fn: Callable[..., Any]) -> None:
    program = anyshape.export(
        fn, (torch.ones(3, 2),), dynamic_shapes=({0: "n"},), control_flow="raise"
    )
    compiled = anyshape.compile(fn, fullgraph=True)
    for n in SIZES:
        x = torch.randn(n, 2)
        assert torch.equal(program(x), fn(x))
        assert torch.equal(compiled(x), fn(x))
    assert not [s for s in program.symbols if s.startswith("u")]


class Factor(torch.nn.Module):
    """Reads numbers off buffers, which others may change."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("real", torch.tensor([1.0, 2.0]))
        self.register_buffer("whole", torch.tensor([[1, 2]]))
        self.register_buffer("place", torch.tensor(1))
        self.register_buffer("cuts", torch.tensor([1, 2]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = torch.tensor_split(x, self.cuts, 1)
        grown = torch.broadcast_tensors(self.real, torch.atleast_2d(self.real))[0]
        total = x * self.real.tolist()[0] + self.whole.tolist()[0][1]
        return total + parts[0].sum() + torch.select(x, 1, self.place).sum() + grown.sum()


def test_numbers_of_buffers_are_read_on_every_call() -> None:
    model = Factor()
    program = anyshape.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(model)
    for n in SIZES:
        x = torch.randn(n, 4)
        assert torch.equal(program(x), model(x))
        assert torch.equal(compiled(x), model(x))
        model.real.add_(1)
        model.whole.add_(1)
        model.place.copy_((n + 1) % 4)
        model.cuts.copy_(torch.tensor([n % 3, 3]))


def written(x: torch.Tensor) -> Any:
    a = torch.zeros(2)
    a[0] = x.sum()
    return a.tolist()


def drawn(x: torch.Tensor) -> Any:
    return torch.rand(2).tolist()


def unwritten(x: torch.Tensor) -> Any:
    return torch.empty(2, dtype=torch.int64).tolist()


def given(x: torch.Tensor) -> Any:
    return (torch.tensor([1.0, 2.0]) * x.sum()).tolist()


def far(x: torch.Tensor) -> Any:
    return torch.arange(5000).sum().item()


@pytest.mark.parametrize("fn", [written, drawn, unwritten, given, far], ids=lambda f: f.__name__)
def test_what_only_the_run_knows_stays_symbolic(fn: Callable[..., Any]) -> None:
    outputs = capture(fn, (torch.ones(3),)).graph.outputs
    assert all(isinstance(n, torch.SymInt | torch.SymFloat) for n in outputs)
