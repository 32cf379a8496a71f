"""What libraries do around their tensors: exported and compiled at sizes with 0 and 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch import nn

import anyshape

SIZES = (5, 0, 1, 8)


def by_length(x: torch.Tensor) -> torch.Tensor:
    (kept,) = torch.where(x > 0)
    if len(kept) == 0:
        return x.sum()
    return x[kept].sum() * len(x)


def all_short(x: torch.Tensor) -> torch.Tensor:
    rows, columns = torch.where((x > 0)[:, None] & (x < 1)[None])
    if all(len(place) <= 1 for place in (rows, columns)):
        return x.sum()
    return x[rows].sum() + x[columns].sum()


class Tableau(NamedTuple):
    """Coefficients, as a record of tensors."""

    alpha: torch.Tensor
    order: int


class Solver(nn.Module):
    """Reads tensors off a record that its class holds."""

    tableau = Tableau(torch.tensor([0.5, 1.0]), 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = Tableau(self.tableau.alpha.to(x.dtype) * 2, self.tableau.order)
        return x[:, None] * made.alpha + made.order


class Neuron(nn.Module):
    """Assigns one buffer and reads another."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("threshold", torch.tensor(0.5))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen = x.sum(0, keepdim=True)
        return x - self.threshold + self.seen


class Normal(nn.Module):
    """A distribution over buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Normal(self.mean, self.scale).log_prob(x)


@torch.jit.script_if_tracing
def decorated(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.numel() > 1 else x


def calls_decorated(x: torch.Tensor) -> torch.Tensor:
    return decorated(x) + 1


@pytest.mark.parametrize(
    "model",
    [by_length, all_short, Solver(), Neuron(), Normal(), calls_decorated],
    ids=lambda m: getattr(m, "__name__", type(m).__name__),
)
def test_one_program_serves_all_sizes(model: Any) -> None:
    program = anyshape.export(model, (torch.randn(5),), dynamic_shapes=({0: "n"},))
    compiled = anyshape.compile(model)
    for n in SIZES:
        for x in (torch.randn(n), -torch.ones(n)):
            expected = model(x)
            assert torch.equal(program(x), expected)
            assert torch.equal(compiled(x), expected)
    assert compiled.eager_because is None


def test_sizes_that_every_side_of_a_branch_refuses_are_refused() -> None:
    def step(noise: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        scale = 1.0 if noise.sum() > 0 else 2.0
        return sample - scale * noise

    program = anyshape.export(
        step,
        (torch.ones(3, 2), torch.ones(3, 2)),
        dynamic_shapes=({0: anyshape.Dim.AUTO}, {0: anyshape.Dim.AUTO}),
    )
    for n, m in ((3, 3), (1, 1), (0, 0), (4, 1), (1, 4)):
        noise, sample = torch.randn(n, 2), torch.randn(m, 2)
        assert torch.equal(program(noise, sample), step(noise, sample))
    with pytest.raises(anyshape.AnyshapeError):
        program(torch.ones(3, 2), torch.ones(4, 2))


def too_small(x: torch.Tensor) -> torch.Tensor:
    height, width = x.shape
    if height <= 2 or width <= 2:
        raise ValueError(f"got {(height, width)}, that is {x.shape}, or %d" % height)
    return x * 2


def test_texts_of_errors_do_not_split_the_sizes() -> None:
    spec = ({0: "n", 1: "m"},)
    program = anyshape.export(
        too_small, (torch.ones(5, 6),), dynamic_shapes=spec, allow_partial=True
    )
    assert program.is_complete
    texts = {str(refused.error) for refused in program.refused}
    assert texts == {"got (n, m), that is torch.Size([n, m]), or n"}
    for n, m in ((3, 3), (8, 9)):
        assert torch.equal(program(torch.ones(n, m)), torch.full((n, m), 2.0))
    for n, m in ((2, 50), (50, 0), (1, 1)):
        with pytest.raises(anyshape.AnyshapeError, match="too_small raises for"):
            program(torch.ones(n, m))


def test_an_example_that_raises_gets_the_error_of_eager_execution() -> None:
    x = torch.ones(2, 6)
    with pytest.raises(ValueError, match="got") as eager:
        too_small(x)
    with pytest.raises(ValueError, match="got") as traced:
        anyshape.export(too_small, (x,), dynamic_shapes=({0: "n", 1: "m"},))
    assert str(traced.value) == str(eager.value)


def test_a_handler_sees_the_text_of_eager_execution() -> None:
    def handled(x: torch.Tensor) -> torch.Tensor:
        try:
            return too_small(x)
        except ValueError as e:
            return x + len(str(e))

    auto = {0: anyshape.Dim.AUTO}
    program = anyshape.export(handled, (torch.ones(2, 6),), dynamic_shapes=(auto,))
    for n in (2, 1, 0, 7):
        x = torch.ones(n, 6)
        assert torch.equal(program(x), handled(x))
