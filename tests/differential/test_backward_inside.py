"""`backward()` inside a program: gradients are those of eager execution, and change in place."""

from __future__ import annotations

import pytest
import torch

import anyshape
from anyshape.errors import UnsupportedError
from anyshape.trace.autograd import backward as backward_module

SIZES = (3, 0, 1, 2, 5)


def scaled(x):
    y = x * 2
    y.requires_grad_()
    if y.requires_grad and y.is_leaf:
        (y**2).sum().backward()
    return y.grad * 2 + 1


def added_up(x):
    y = (x * 2).requires_grad_()
    (y * 3).sum().backward()
    first = y.grad
    (y * y).sum().backward()
    return first, y.grad, first is y.grad


def changed_in_place(x):
    y = (x * 2).requires_grad_()
    z = y * 3
    z.add_(y)
    z[0:1].mul_(2)
    z.sum().backward()
    return y.grad


def only_one(x):
    a, b = (x * 2).requires_grad_(), (x + 1).requires_grad_()
    (a * 2).sum().backward()
    return a.grad, b.grad is None


def without_gradients(x):
    a = (x * 2).requires_grad_()
    with torch.no_grad():
        b = a * 3
    (a * 2 + b).sum().backward()
    return a.grad


def kept_graph(x):
    a = x.clone().requires_grad_()
    loss = (a * a).sum()
    loss.backward(retain_graph=True)
    before = a.grad.clone()
    loss.backward()
    return before, a.grad


def of_several(x):
    a = x.clone().requires_grad_()
    torch.autograd.backward([(a * 2).sum(), (a * a).sum()])
    return a.grad


def dropped(x):
    a = x.clone().requires_grad_()
    (a * a).sum().backward()
    before, a.grad = a.grad, None
    (a * 3).sum().backward()
    return before, a.grad


def zeroed(x):
    a = x.clone().requires_grad_()
    (a * a).sum().backward()
    before = a.grad
    before.zero_()
    (a * 3).sum().backward()
    return before, before is a.grad


def of_a_vector(x):
    a = x.clone().requires_grad_()
    b = a * 2
    b.backward(torch.ones_like(b))
    return a.grad


def assigned(x):
    y = x + 10
    y.grad = x
    return y, y.grad is x


PROGRAMS = (
    scaled,
    added_up,
    changed_in_place,
    only_one,
    without_gradients,
    kept_graph,
    of_several,
    dropped,
    zeroed,
    of_a_vector,
    assigned,
)


def _same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a, b) if isinstance(b, torch.Tensor) else a is b


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("fullgraph", [True, False])
def test_gradients_are_those_of_eager(f, fullgraph):
    compiled = anyshape.compile(f, fullgraph=fullgraph)
    for n in SIZES:
        x = torch.randn(n)
        found, wanted = compiled(x), f(x)
        _same(
            found if isinstance(found, tuple) else (found,),
            wanted if isinstance(wanted, tuple) else (wanted,),
        )


def test_an_input_gets_its_gradient():
    def f(x, target):
        hidden = x * 2 + 1
        leaf = hidden.detach().requires_grad_()
        loss = torch.nn.functional.cross_entropy(leaf, target)
        loss.backward()
        hidden.backward(leaf.grad)
        return x.grad, loss.detach()

    compiled = anyshape.compile(f, fullgraph=True)
    for n in (2, 4, 3):
        x, target = torch.randn(n, 8, requires_grad=True), torch.randint(0, 8, (n,))
        y = x.detach().clone().requires_grad_()
        found, wanted = compiled(x, target), f(y, target)
        _same(found, wanted)
        assert found[0] is x.grad
        assert torch.equal(x.grad, y.grad)


def test_a_gradient_that_is_stored():
    saved = {}

    def f(x):
        y = (x * 2).requires_grad_()
        (y**2).sum().backward()
        saved["grad"] = y.grad
        return y.grad.clone()

    x = torch.randn(3)
    found = anyshape.compile(f, fullgraph=True)(x)
    assert torch.equal(found, saved["grad"])
    assert torch.equal(found, f(x))


def test_gradients_of_parameters_break_the_graph():
    linear = torch.nn.Linear(3, 2)

    def f(x):
        loss = linear(x).sum()
        loss.backward()
        return linear.weight.grad * 2

    with pytest.raises(UnsupportedError, match=r"backward\(\) of a traced tensor"):
        anyshape.compile(f, fullgraph=True)(torch.ones(1, 3))
    compiled = anyshape.compile(f)
    for n in (1, 2, 2):
        linear.zero_grad()
        found = compiled(torch.ones(n, 3))
        linear.zero_grad()
        assert torch.equal(found, f(torch.ones(n, 3)))


def test_a_gradient_that_is_not_there_is_an_error(monkeypatch):
    """A planted bug: every leaf counts as reached."""
    found = backward_module._reached

    def all_leaves(tracer, values):
        others = [key[0] for key in tracer.memo if type(key) is tuple and key[1:] == ("leaf",)]
        return [*found(tracer, values), *others]

    monkeypatch.setattr(backward_module, "_reached", all_leaves)
    with pytest.raises(anyshape.RuntimeAssertError, match="gave a tensor no gradient"):
        anyshape.compile(lambda x: only_one(x)[0] + _other(x), fullgraph=True)(torch.ones(2))


def _other(x):
    a, b = (x * 2).requires_grad_(), (x + 1).requires_grad_()
    (a * 2).sum().backward()
    return b.grad
