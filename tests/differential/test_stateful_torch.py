"""Objects of torch that keep state, in compiled functions: as in eager execution, call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.utils.prune
from torch import nn
from torch.ao.quantization import MinMaxObserver
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

import anyshape
from tests.differential.test_training_steps import same

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 4
Program = tuple["Callable[[torch.Tensor], Any]", "Callable[[], Any]"]  # and what it changes


def linear() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def lbfgs() -> Program:
    model = linear()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)

    def fn(x: torch.Tensor) -> Any:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            return loss

        return optimizer.step(closure).detach()

    return fn, lambda: list(model.parameters())


def sobol() -> Program:
    engine = torch.quasirandom.SobolEngine(2)
    return lambda x: engine.draw(x.shape[0]).sum() + x.sum(), lambda: engine.num_generated


def profiled() -> Program:
    def fn(x: torch.Tensor) -> Any:
        with torch.profiler.record_function("a"):
            y = x * 2
        return y + 1

    return fn, lambda: None


def data_parallel() -> Program:
    return nn.DataParallel(linear()), lambda: None


def graph_module() -> Program:
    return torch.fx.symbolic_trace(nn.Sequential(linear(), nn.ReLU())), lambda: None


def averaged() -> Program:
    model = linear()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))

    def fn(x: torch.Tensor) -> Any:
        with torch.no_grad():
            model.weight.add_(0.1)
        average.update_parameters(model)
        return average(x)

    return fn, lambda: [*average.parameters(), average.n_averaged]


def plateau() -> Program:
    optimizer = torch.optim.SGD(linear().parameters(), 0.1)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)

    def fn(x: torch.Tensor) -> Any:
        scheduler.step(x.sum())
        return x + optimizer.param_groups[0]["lr"]

    return fn, lambda: [scheduler.state_dict(), optimizer.param_groups[0]["lr"]]


def warmup() -> Program:
    optimizer = torch.optim.SGD(linear().parameters(), 0.1)
    parts = [lr_scheduler.LinearLR(optimizer), lr_scheduler.ExponentialLR(optimizer, 0.9)]
    scheduler = lr_scheduler.SequentialLR(optimizer, parts, [2])

    def fn(x: torch.Tensor) -> Any:
        optimizer.step()
        scheduler.step()
        return x * optimizer.param_groups[0]["lr"]

    return fn, lambda: [optimizer.param_groups[0]["lr"], scheduler.last_epoch]


def added_group() -> Program:
    optimizer = torch.optim.SGD(linear().parameters(), 0.1)

    def fn(x: torch.Tensor) -> Any:
        optimizer.add_param_group({"params": [nn.Parameter(torch.ones(2))]})
        return x + len(optimizer.param_groups)

    return fn, lambda: len(optimizer.param_groups)


def loaded_state() -> Program:
    model, other = linear(), nn.Linear(3, 2)

    def fn(x: torch.Tensor) -> Any:
        other.load_state_dict(model.state_dict())
        return other(x)

    return fn, lambda: list(other.parameters())


def dataset() -> Program:
    data, counter = TensorDataset(torch.arange(6.0)), [0]

    def fn(x: torch.Tensor) -> Any:
        counter[0] += 1
        return x + data[counter[0]][0]

    return fn, lambda: counter


def loader() -> Program:
    data = DataLoader(TensorDataset(torch.arange(6.0)), batch_size=2)

    def fn(x: torch.Tensor) -> Any:
        total = 0
        for (batch,) in data:
            total = total + batch.sum()
        return x + total

    return fn, lambda: None


def module_gradients() -> Program:
    model = linear()

    def fn(x: torch.Tensor) -> Any:
        model.zero_grad()
        model(x).sum().backward()
        return model.weight.grad.clone()

    return fn, lambda: [p.grad for p in model.parameters()]


def accumulated() -> Program:
    model, counter = linear(), [0]
    optimizer = torch.optim.Adam(model.parameters())

    def fn(x: torch.Tensor) -> Any:
        loss = model(x).sum() / 2
        loss.backward()
        counter[0] += 1
        if counter[0] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return fn, lambda: [*model.parameters(), *[p.grad for p in model.parameters()], counter]


def observer() -> Program:
    watch = MinMaxObserver()
    return lambda x: watch(x * 2), lambda: [watch.min_val, watch.max_val]


def pruned() -> Program:
    model = linear()
    torch.nn.utils.prune.l1_unstructured(model, "weight", 2)
    return model, lambda: list(model.parameters())


def clipped() -> Program:
    """Gradients of several dtypes, new ones on each call."""
    tensors = [nn.Parameter(torch.zeros(2, dtype=d)) for d in (torch.float64, torch.float32)]

    def fn(x: torch.Tensor) -> Any:
        for p in tensors:
            p.grad = torch.full((2,), float(x.shape[0]), dtype=p.dtype)
        return x + nn.utils.clip_grad_norm_(tensors, 1.0)

    return fn, lambda: [p.grad for p in tensors]


PROGRAMS = (lbfgs, sobol, profiled, data_parallel, graph_module, averaged, plateau, warmup,
            added_group, loaded_state, dataset, loader, module_gradients, accumulated, observer,
            pruned, clipped)  # fmt: skip


@pytest.mark.parametrize("make", PROGRAMS, ids=[make.__name__ for make in PROGRAMS])
@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step:UserWarning", "ignore:.*deprecated")
def test_as_in_eager_execution(make: Callable[[], Program]) -> None:
    (eager, state), (fn, other) = make(), make()
    compiled = anyshape.compile(fn)
    for i in range(CALLS):
        x = torch.ones(3 + i % 3, 3)
        assert same(compiled(x), eager(x)), i
        assert same(other(), state()), i
