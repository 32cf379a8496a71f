"""Habits of training over 20 steps with changing batch and length: closures, checkpoints, averages
of weights, copies in the middle. Losses and parameters are eager's, bit for bit.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import anyshape
from tests.differential.test_training_steps import same

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 20
SIZES = ((4, 5), (3, 2), (1, 1), (2, 7), (1, 4), (5, 1))
POLICIES = (None, "unbacked")


class Model(nn.Module):
    """Layers with batch statistics, whose blocks may be checkpointed."""

    def __init__(self, how: str = "") -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(6, 8), nn.BatchNorm1d(8)
        self.blocks = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.GELU())
        self.out = nn.Linear(8, 3)
        self.how = how

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        if x.shape[0] * x.shape[1] > 1:  # one value has no variance
            y = self.norm(y.flatten(0, 1)).view_as(y)
        if self.how == "sequential":
            y = checkpoint_sequential(self.blocks, 2, y, use_reentrant=False)
        elif self.how:
            y = checkpoint(self.blocks, y, use_reentrant=self.how == "reentrant")
        else:
            y = self.blocks(y)
        return self.out(y).mean((0, 1)) + x.shape[1]


def model(how: str = "") -> Model:
    torch.manual_seed(0)
    return Model(how)


def batch(i: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(i)
    return torch.randn(*SIZES[i % len(SIZES)], 6, generator=generator)


def state(m: nn.Module, optimizer: Any) -> list[Any]:
    """The parameters and buffers, and what the optimizer keeps."""
    return [*copy.deepcopy(m.state_dict()).values(), copy.deepcopy(optimizer.state_dict())]


def compare(
    make: Callable[[], tuple[nn.Module, Any, Callable[..., Any]]], compile_step: Callable[..., Any]
) -> None:
    """Train twice, once with a compiled step."""
    (eager, its, step), (other, mine, another) = make(), make()
    compiled = compile_step(another)
    for i in range(STEPS):
        torch.manual_seed(i)
        want = step(batch(i))
        torch.manual_seed(i)
        assert same(compiled(batch(i)), want), f"the loss of step {i}"
        assert same(state(other, mine), state(eager, its)), f"the state after step {i}"


def stepping(m: nn.Module, optimizer: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """A plain step."""

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = m(x).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("how", ["", "reentrant", "plain", "sequential"])
def test_checkpoints(how: str, dynamic: Any) -> None:
    def make() -> Any:
        m = model(how)
        optimizer = torch.optim.SGD(m.parameters(), 0.01, momentum=0.9)
        return m, optimizer, stepping(m, optimizer)

    compare(make, lambda step: anyshape.compile(step, dynamic=dynamic))


@pytest.mark.parametrize("how", ["reentrant", "plain"])
def test_a_compiled_model_that_checkpoints(how: str) -> None:
    def make(compiled: bool) -> Any:
        m = model(how)
        optimizer = torch.optim.AdamW(m.parameters(), 0.01)
        called = anyshape.compile(m, dynamic="unbacked") if compiled else m
        return m, optimizer, stepping(called, optimizer)

    turns = iter((False, True))
    compare(lambda: make(next(turns)), lambda step: step)


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_a_closure(search: str | None, dynamic: Any) -> None:
    def make() -> Any:
        m = model()
        optimizer = torch.optim.LBFGS(m.parameters(), 0.1, max_iter=3, line_search_fn=search)

        def step(x: torch.Tensor) -> torch.Tensor:
            def closure() -> torch.Tensor:
                optimizer.zero_grad()
                loss = m(x).square().sum()
                loss.backward()
                return loss

            return optimizer.step(closure).detach()

        return m, optimizer, step

    compare(make, lambda step: anyshape.compile(step, dynamic=dynamic))


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_a_closure_of_an_optimizer_that_calls_it_once(optimizer: str) -> None:
    def make() -> Any:
        m = model()
        made = getattr(torch.optim, optimizer)(m.parameters(), 0.01)

        def step(x: torch.Tensor) -> torch.Tensor:
            def closure() -> torch.Tensor:
                made.zero_grad()
                loss = m(x).square().sum()
                loss.backward()
                return loss

            return made.step(closure).detach()

        return m, made, step

    compare(make, anyshape.compile)


@pytest.mark.parametrize("dynamic", POLICIES)
def test_averaged_weights(dynamic: Any) -> None:
    def make() -> Any:
        m = model()
        optimizer = torch.optim.SGD(m.parameters(), 0.05)
        average, rate = AveragedModel(m), SWALR(optimizer, 0.02, anneal_epochs=5)
        plain = stepping(m, optimizer)

        def step(x: torch.Tensor) -> torch.Tensor:
            loss = plain(x)
            average.update_parameters(m)
            rate.step()
            return loss + average(x).detach().sum()

        return nn.ModuleList([m, average]), optimizer, step

    compare(make, lambda step: anyshape.compile(step, dynamic=dynamic))


def test_batch_statistics_of_an_average_of_a_compiled_model() -> None:
    m = model()
    compiled = anyshape.compile(copy.deepcopy(m), dynamic="unbacked")
    batches = [batch(i) for i in range(STEPS) if batch(i).shape[:2] != (1, 1)]
    pair = [AveragedModel(m), AveragedModel(compiled)]
    for average in pair:
        update_bn(batches, average)
    for x in batches:
        assert same(pair[1](x), pair[0](x))
    assert same(pair[1].module.norm.running_var, pair[0].module.norm.running_var)


def test_a_copy_in_the_middle_goes_on_by_itself() -> None:
    def made(compiled: bool) -> tuple[Any, Any]:
        m: Any = anyshape.compile(model(), dynamic="unbacked") if compiled else model()
        return m, torch.optim.AdamW(m.parameters(), 0.01)

    def copied(m: Any, optimizer: Any) -> tuple[Any, Any]:
        other = copy.deepcopy(m)
        new = torch.optim.AdamW(other.parameters(), 0.01)
        new.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        return other, new

    runs = [[made(False)], [made(True)]]
    for i in range(STEPS):
        if i == STEPS // 2:
            for run in runs:
                run.append(copied(*run[0]))
        for number in range(len(runs[0])):
            want, got = [stepping(*run[number])(batch(i + 3 * number)) for run in runs]
            assert same(got, want)
    for number in range(2):
        (eager, _), (other, _) = runs[0][number], runs[1][number]
        assert same([*other.parameters()], [*eager.parameters()])
    assert not same([*runs[1][0][0].parameters()], [*runs[1][1][0].parameters()])


def test_a_closure_that_is_called_once_too_often_is_found() -> None:
    """A planted bug."""

    def make() -> Any:
        m = model()
        optimizer = torch.optim.SGD(m.parameters(), 0.01)
        return m, optimizer, stepping(m, optimizer)

    def twice(step: Any) -> Any:
        return lambda x: (step(x), step(x))[0]

    with pytest.raises(AssertionError, match="the state after step 0"):
        compare(make, twice)
