"""Several results of one compiled program: gradients flow from each as in eager execution.

What a used result does not depend on has the gradient None, and results with histories of their own
may have backward passes of their own.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape
from anyshape.interop.histories import Histories
from tests.differential.test_training_steps import same

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (4, 1, 0, 2, 7)


class Net(nn.Module):
    """A trunk with heads, and a tower beside them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.trunk, self.tower = nn.Linear(3, 3), nn.Linear(3, 2)
        self.first, self.second = nn.Linear(3, 2), nn.Linear(3, 1)
        self.scale = nn.Parameter(torch.tensor(2.0))


def heads(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = net.trunk(x).relu()
    return net.first(y), net.second(y), y


def towers(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return net.first(x), net.tower(x) * net.scale, x.sum()


def cut(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """One result depends on the values of another, and not on its history."""
    y = net.trunk(x)
    with torch.no_grad():
        held = net.tower(x)
    return y, net.second(y.detach()), net.first(held.new_ones(held.shape[0], 3)) + held


def written(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Writes bring two histories into one memory, of which a view sees both."""
    y = x.new_zeros(x.shape[0], 4)
    y[:, :2] = net.first(x)
    right = y[:, 2:]
    right += net.tower(x)
    return y * 1, net.second(x), right * net.scale


def viewed(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = net.trunk(x)
    return y.t(), y[:1], net.first.weight.t() * net.scale


def again(net: Net, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A parameter is used twice, once through an expanded size."""
    return net.scale.expand(x.shape[0]), x * net.scale, net.tower(x)


PROGRAMS = (heads, towers, cut, written, viewed, again)


def gradients(net: Net, results: tuple[torch.Tensor, ...], used: tuple[int, ...]) -> list[Any]:
    net.zero_grad()
    sum([results[i].square().sum() for i in used], torch.zeros(())).backward()
    return [p.grad for p in net.parameters()]


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_of_some_results(program: Callable[..., Any], dynamic: Any) -> None:
    net = Net()
    compiled = anyshape.compile(lambda x: program(net, x), backend="aot_eager", dynamic=dynamic)
    for n in SIZES:
        x = torch.linspace(-1, 1, 3 * n).view(n, 3)
        for used in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
            if not any(program(net, x)[i].requires_grad for i in used):
                continue
            expected = gradients(net, program(net, x), used)
            assert same(gradients(net, compiled(x), used), expected), (n, used)


def test_an_input_with_a_history_has_its_gradient() -> None:
    net = Net()
    compiled = anyshape.compile(lambda x, y: (x * net.scale, y * 2), backend="aot_eager")
    for n in SIZES:
        found = []
        for function in (compiled, compiled.fn):
            start = torch.ones(n, requires_grad=True)
            other = torch.ones(n, requires_grad=True)
            function(start * 3, other * 3)[1].sum().backward()
            found.append([start.grad, other.grad])
        assert same(*found)
        assert found[0][0] is None


def test_an_input_that_is_a_parameter_of_the_program_too() -> None:
    net = Net()
    other = nn.Parameter(torch.tensor(3.0))
    program = anyshape.compile(lambda x: (x * 2, net.scale * 3, other * 5), backend="aot_eager")
    for given in (net.scale, other, net.scale):
        for used in range(3):
            found = []
            for function in (program, program.fn):
                net.scale.grad = other.grad = None
                function(given)[used].backward()
                found.append([net.scale.grad, other.grad])
            assert same(*found), used


def test_an_update_leaves_what_got_no_gradient() -> None:
    """Weights of a head that no loss uses do not decay."""
    eager = Net()
    other = copy.deepcopy(eager)
    compiled = anyshape.compile(other_heads := (lambda x: heads(other, x)), backend="aot_eager")
    assert other_heads is compiled.fn
    pairs = ((eager, lambda x: heads(eager, x)), (other, compiled))
    for net, function in pairs:
        optimizer = torch.optim.AdamW(net.parameters(), 0.1, weight_decay=0.5)
        for n in SIZES:
            optimizer.zero_grad()
            function(torch.ones(n, 3))[n % 2].sum().backward()
            optimizer.step()
    assert same([*other.parameters()], [*eager.parameters()])


class Adversaries:
    """A generator and a discriminator, whose losses have backward passes of their own."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.maker, self.judge = nn.Linear(2, 3), nn.Linear(3, 1)
        self.makers = torch.optim.AdamW(self.maker.parameters(), 0.01)
        self.judges = torch.optim.AdamW(self.judge.parameters(), 0.01)

    def step(self, real: torch.Tensor) -> tuple[float, float]:
        self.judges.zero_grad()
        made = self.maker(torch.randn(real.shape[0], 2))
        told = F.softplus(self.judge(made.detach())).sum() + F.softplus(-self.judge(real)).sum()
        told.backward()
        self.judges.step()
        self.makers.zero_grad()
        fooled = F.softplus(-self.judge(made)).sum()
        fooled.backward()
        self.makers.step()
        return told.item(), fooled.item()


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_adversaries(backend: str | None, dynamic: Any) -> None:
    eager, other = Adversaries(), Adversaries()
    compiled = anyshape.compile(other.step, backend=backend, dynamic=dynamic)
    for i, n in enumerate(2 * SIZES):
        results = []
        for step in (eager.step, compiled):
            torch.manual_seed(i)
            results.append(step(torch.randn(n, 3)))
        assert results[0] == pytest.approx(results[1], rel=1e-6)
        for a, b in ((eager.maker, other.maker), (eager.judge, other.judge)):
            pairs = zip(a.parameters(), b.parameters(), strict=True)
            assert all(torch.allclose(p, q, rtol=1e-5, atol=1e-6) for p, q in pairs)


class Penalized:
    """A step that keeps graphs of autograd: for a penalty on gradients, or for two backwards."""

    def __init__(self, how: str) -> None:
        torch.manual_seed(0)
        self.judge = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer = torch.optim.Adam(self.judge.parameters(), 0.01)
        self.how = how

    def slope(self, x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        told = self.judge(x).sum()
        (grad,) = torch.autograd.grad(told, x, create_graph=True)
        return (grad.norm(dim=1) - 1).square().sum()

    def step(self, real: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.judge(real).sum()
        if self.how == "penalty":
            loss = loss + self.slope(real)
            loss.backward()
        elif self.how == "inner":
            weights = list(self.judge.parameters())
            grads = torch.autograd.grad(loss.square(), weights, create_graph=True)
            loss = sum([g.square().sum() for g in grads], loss)
            loss.backward()
        else:
            loss.backward(retain_graph=True)
            (loss * 2).backward()
        self.optimizer.step()
        return loss.detach()


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("how", ["penalty", "inner", "retained"])
def test_graphs_that_are_kept(how: str, backend: str | None, dynamic: Any) -> None:
    eager, other = Penalized(how), Penalized(how)
    compiled = anyshape.compile(other.step, backend=backend, dynamic=dynamic)
    for n in 2 * SIZES:
        x = torch.linspace(-1, 1, 3 * n).view(n, 3)
        torch.testing.assert_close(compiled(x), eager.step(x))
        pairs = zip(other.judge.parameters(), eager.judge.parameters(), strict=True)
        for p, q in pairs:
            torch.testing.assert_close(p, q)


def test_zeros_for_what_is_not_used_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug."""
    monkeypatch.setattr(Histories, "differ", False)
    net = Net()
    compiled = anyshape.compile(lambda x: heads(net, x), backend="aot_eager")
    assert gradients(net, heads(net, torch.ones(2, 3)), (0,))[-1] is None
    grads = gradients(net, compiled(torch.ones(2, 3)), (0,))
    assert net.second.weight.grad is not None
    assert not same(grads, gradients(net, heads(net, torch.ones(2, 3)), (0,)))
