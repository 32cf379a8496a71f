"""`program.module()`: names, training, buffers, copies, what it refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from anyshape import ConstraintError, StateError, UnsupportedError, export
from tests.unit.export.state.modules import ByData, BySize, Norm, Tied

LAYER = nn.Linear(4, 4)
half = nn.Linear(4, 4)  # a name that every module has a method for
IDS = torch.arange(3)


def exported(fn: Any, example: Any = None) -> Any:
    example = torch.randn(3, 4) if example is None else example
    return export(fn, (example,), dynamic_shapes=({0: "n"},))


def batch(model: nn.Module, n: int) -> torch.Tensor:
    return torch.arange(n) % 10 if isinstance(model, Tied) else torch.randn(n, 4)


def loss_of(result: Any) -> torch.Tensor:
    parts = result.values() if isinstance(result, dict) else [result]
    return sum((part**2).mean() for part in parts)


@pytest.mark.parametrize("make", [Tied, Norm, BySize, ByData])
def test_names_ties_and_values(make: Any) -> None:
    model = make()
    module = exported(model, batch(model, 3)).module()
    want, got = model.state_dict(), module.state_dict()
    assert [*got] == [*want]
    assert all(torch.equal(got[name], want[name]) for name in want)
    assert [(n, id(p)) for n, p in module.named_parameters()] == [
        (n, id(p)) for n, p in model.named_parameters()
    ]
    assert [n for n, _ in module.named_buffers()] == [n for n, _ in model.named_buffers()]
    called = {n for n, m in module.named_modules() if m.anyshape_class}
    assert called <= {n for n, _ in model.named_modules()}


def train(model: Any, run: Any, steps: int) -> list[float]:
    """Train at changing sizes; the losses."""
    torch.manual_seed(1)
    optimizer = torch.optim.AdamW(run.parameters(), lr=1e-2)
    losses = []
    for step in range(steps):
        n = (2, 3, 5, 7, 2, 11)[step % 6]
        optimizer.zero_grad()
        loss = loss_of(run(batch(model, n)))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("make", [Tied, Norm, BySize, ByData])
def test_training_equals_eager_training(make: Any) -> None:
    torch.manual_seed(0)
    model = make()
    twin = copy.deepcopy(model)
    program = exported(model, batch(model, 3))
    before = {n: t.clone() for n, t in model.state_dict().items()}
    module = copy.deepcopy(program.module())
    assert train(twin, twin, 50) == train(model, module, 50)
    want, got = twin.state_dict(), module.state_dict()
    assert all(torch.equal(got[name], want[name]) for name in want)
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())  # the copied one


def test_the_program_shares_its_tensors_with_the_module() -> None:
    model = Norm()
    program = exported(model)
    module = program.module()
    train(model, module, 2)
    x = torch.randn(5, 4)
    assert torch.equal(program(x), module(x))
    assert module.state_dict()["net.1.num_batches_tracked"] == 4  # and two calls
    assert model.net[1].num_batches_tracked == 4


def test_another_size_is_refused() -> None:
    model = Norm()
    program = export(model, (torch.randn(3, 4),))
    with pytest.raises(ConstraintError):
        program.module()(torch.randn(4, 4))


def test_modes() -> None:
    for mode in (True, False):
        module = exported(Norm().train(mode)).module()
        assert module.training is mode
        assert module.train(mode) is module
        with pytest.raises(UnsupportedError, match="traced in"):
            module.train(not mode)
        with pytest.raises(UnsupportedError, match="traced in"):
            module.net.train(not mode)
    mixed = Norm()
    mixed.net[1].eval()
    with pytest.raises(UnsupportedError, match="traced in no single mode"):
        exported(mixed).module().eval()


def test_a_submodule_cannot_be_called() -> None:
    with pytest.raises(UnsupportedError, match=r"net.0 is a place for tensors"):
        exported(Norm()).module().get_submodule("net.0")(torch.ones(1, 4))


def test_other_tensors_of_another_form_are_refused() -> None:
    module = exported(BySize()).module()
    module.double()
    with pytest.raises(StateError, match=r"one.weight is float64\[4, 4\] on cpu"):
        module(torch.ones(1, 4))
    module.float()
    module(torch.ones(1, 4))
    module.one.weight = nn.Parameter(torch.ones(3, 4))
    with pytest.raises(StateError, match=r"one.weight is float32\[3, 4\]"):
        module(torch.ones(1, 4))
    del module.one.weight
    with pytest.raises(StateError, match=r"no tensor one.weight"):
        module(torch.ones(1, 4))


def test_ties_must_stay() -> None:
    model = Tied()
    module = copy.deepcopy(exported(model, IDS).module())
    new = nn.Parameter(torch.ones(10, 4))
    module.out.weight = new
    with pytest.raises(StateError, match=r"out.weight is no longer tied to embed.weight"):
        module(IDS)
    module.embed.weight = new
    assert module(IDS)["logits"].shape == (3, 10)


def test_functional_call_and_parametrizations() -> None:
    model = BySize()
    module = exported(model).module()
    x = torch.randn(5, 4)
    other = {name: torch.randn_like(p) for name, p in model.named_parameters()}
    want = torch.func.functional_call(model, other, (x,))
    torch.testing.assert_close(torch.func.functional_call(module, other, (x,)), want)
    grads = [
        torch.func.grad(lambda p, m=m: torch.func.functional_call(m, p, (x,)).sum())(other)
        for m in (module, model)
    ]
    torch.testing.assert_close(*grads)
    torch.testing.assert_close(module(x), model(x))

    class Doubled(nn.Module):
        def forward(self, w: torch.Tensor) -> torch.Tensor:
            return w * 2

    want = model(x)
    module = copy.deepcopy(module)
    for m in (module.many, model.many):
        parametrize.register_parametrization(m, "weight", Doubled())
    assert not torch.equal(model(x), want)
    torch.testing.assert_close(module(x), model(x))


def test_a_function_has_a_module_too() -> None:
    weight = nn.Parameter(torch.ones(4))
    kept = [nn.Parameter(torch.ones(4)), torch.ones(4)]

    def run(x: torch.Tensor) -> torch.Tensor:
        return half(LAYER(x)) * weight + kept[0] * kept[1]

    module = exported(run).module()
    layers = [f"{layer}.{name}" for layer in ("LAYER", "half") for name in ("bias", "weight")]
    assert sorted(module.state_dict()) == sorted([*layers, "kept[0]", "weight"])
    x = torch.randn(5, 4)
    torch.testing.assert_close(copy.deepcopy(module)(x), run(x))
    module(x).sum().backward()
    assert all(p.grad is not None for p in (weight, half.weight, kept[0]))
    assert exported(lambda x: x + 1).module()(x).equal(x + 1)


def test_frozen_parameters() -> None:
    model = Norm()
    module = exported(model).module()
    module.requires_grad_(False)
    module.net.get_submodule("3").weight.requires_grad_(True)
    module(torch.randn(5, 4)).sum().backward()
    assert [n for n, p in module.named_parameters() if p.grad is not None] == ["net.3.weight"]


def test_the_comparison_sees_a_stale_binding() -> None:
    """A module that runs over the tensors of another does not train as eager execution."""
    torch.manual_seed(0)
    model = Norm()
    twin, module = copy.deepcopy(model), copy.deepcopy(exported(model).module())
    module.anyshape_bound._bind = lambda _found: None
    module.anyshape_bound._program = exported(copy.deepcopy(model))
    assert train(twin, twin, 5) != train(model, module, 5)
