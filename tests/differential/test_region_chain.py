"""Neighbouring regions as one function of autograd, by Inductor, against eager execution."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch._functorch import config as functorch_config

import anyshape
from anyshape.interop.regions import chain

WIDTH = 4


class Pair(nn.Module):
    """Two tensors to two others, by products alone, which need no C++ compiler."""

    def __init__(self) -> None:
        super().__init__()
        weights = [torch.eye(WIDTH) + 0.2 * torch.randn(WIDTH, WIDTH) for _ in range(6)]
        self.weights = nn.ParameterList(weights)

    def forward(self, x: Any, z: Any) -> Any:
        a, b, c, d, e, f = self.weights
        return x @ a @ b @ c, z @ d @ e @ f


class Net(nn.Module):
    """Blocks, of which the second is called twice; an early result is used late as well."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Pair() for _ in range(3))
        self.blocks[2].weights[1].requires_grad_(False)
        self.blocks[1].weights[1].requires_grad_(False)
        self.blocks[0].weights[1].requires_grad_(False)

    def forward(self, x: Any) -> Any:
        a, b = x, x.clone()
        early = None
        for i in (0, 1, 1, 2):
            a, b = self.blocks[i](a, b)
            early = a if early is None else early
        return a + early, b.detach()


@pytest.fixture(scope="module")
def nets() -> tuple[Any, nn.Module, nn.Module]:
    """The compiled net, the module below it, and a copy of that."""
    torch.manual_seed(0)
    net = Net()
    plain = copy.deepcopy(net)
    return anyshape.compile(net, dynamic="unbacked", backend="inductor"), net, plain


def made(shape: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(shape)
    return x.clone().requires_grad_(), x.clone().requires_grad_()


def test_gradients_are_those_of_eager_execution(nets: Any) -> None:
    compiled, net, plain = nets
    for n in (5, 3, 1, 8):
        ours, theirs = made((n, WIDTH))
        results = compiled(ours), plain(theirs)
        torch.testing.assert_close(*results)
        assert [r.requires_grad for r in results[0]] == [True, False]
        for out, _ in results:
            (out.square().sum() * 0.1).backward()
        torch.testing.assert_close(ours.grad, theirs.grad)
        for mine, other in zip(net.parameters(), plain.parameters(), strict=True):
            assert (mine.grad is None) == (other.grad is None)
            if mine.grad is not None:
                torch.testing.assert_close(mine.grad, other.grad)
    assert "CompiledParts" in str(_functions(compiled(ours)[0].grad_fn))
    assert "4 calls of Pair with 6 ops each, lowered once" in str(compiled.explain())


def _functions(fn: Any) -> list[str]:
    """The names of the functions of a graph of autograd, each once."""
    found: dict[Any, None] = {}
    todo = [fn]
    while todo:
        at = todo.pop()
        if at is not None and at not in found:
            found[at] = None
            todo += [after for after, _ in at.next_functions]
    return [at.name() for at in found]


def test_the_blocks_are_one_function(nets: Any) -> None:
    x, _ = made((3, WIDTH))
    names = _functions(nets[0](x)[0].grad_fn)
    assert len([name for name in names if "CompiledParts" in name]) == 1


def test_a_gradient_of_nothing_is_zero(nets: Any) -> None:
    compiled, _, plain = nets
    ours, theirs = made((3, WIDTH))
    given = torch.autograd.grad(compiled(ours)[0][:0].sum(), ours)
    torch.testing.assert_close(given, torch.autograd.grad(plain(theirs)[0][:0].sum(), theirs))


def test_a_tangent_in_another_layout(nets: Any) -> None:
    compiled, _, plain = nets
    ours, theirs = made((3, WIDTH))
    tangent = torch.randn(WIDTH, 3).T
    given = torch.autograd.grad(compiled(ours)[0], ours, tangent)
    torch.testing.assert_close(given, torch.autograd.grad(plain(theirs)[0], theirs, tangent))


def test_what_a_compiled_backward_cannot_do_is_an_error(nets: Any) -> None:
    compiled, _, _ = nets
    x, _ = made((3, WIDTH))
    out = compiled(x)[0]
    with pytest.raises(RuntimeError, match="within vmap"):
        torch.vmap(lambda t: torch.autograd.grad(out, x, t))(torch.ones(2, *out.shape))


def test_a_second_derivative_is_an_error_and_a_second_backward_is_not() -> None:
    torch.manual_seed(0)
    net = Net()
    with functorch_config.patch(donated_buffer=False):
        compiled = anyshape.compile(copy.deepcopy(net), dynamic="unbacked", backend="inductor")
        ours, theirs = made((3, WIDTH))
        out, want = compiled(ours)[0].sum(), net(theirs)[0].sum()
        for _ in range(2):
            out.backward(retain_graph=True)
            want.backward(retain_graph=True)
        torch.testing.assert_close(ours.grad, theirs.grad)
        (grad,) = torch.autograd.grad(out, ours, create_graph=True)
        assert grad.requires_grad
        with pytest.raises(RuntimeError, match="no second derivative"):
            grad.sum().backward()


def test_the_suite_finds_gradients_that_are_not_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "_plus", lambda a, b: b)
    torch.manual_seed(0)
    net = Net()
    plain = copy.deepcopy(net)
    with pytest.raises(AssertionError):
        test_gradients_are_those_of_eager_execution(
            (anyshape.compile(net, dynamic="unbacked", backend="inductor"), net, plain)
        )
