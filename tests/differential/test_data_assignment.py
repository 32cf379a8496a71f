"""`.data`, parameters and submodules that a program assigns, and lazy modules, against eager."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.trace.record.effect import effect

WEIGHT = nn.Parameter(torch.ones(6))


def shared(x: Any, y: Any) -> Any:
    x.data = y
    return x * 2


def swapped(x: Any, y: Any) -> Any:
    kept = x
    x.data = y
    y.data = torch.zeros([0])
    return x, torch.tensor(x is kept)


def shapes(x: Any, y: Any) -> Any:
    a, view = x.sin(), x[:1].detach()
    x.data = torch.cat([y, y * 2])
    return x.sin(), a, x.shape, x.sum() + x.size(0), view


def of_a_part(x: Any, y: Any) -> Any:
    x.data = x.data[: x.size(0) // 2]
    return x + 1, y.size(0)


def from_outside(x: Any, y: Any) -> Any:
    WEIGHT.data = WEIGHT * 2
    return WEIGHT + x.sum(), y


PROGRAMS = (shared, swapped, shapes, of_a_part, from_outside)
SIZES = ((6, 6), (0, 0), (1, 1), (3, 5), (4, 0), (6, 6), (2, 7))


def outcome(fn: Any, n: int, m: int, grad: bool) -> Any:
    x = torch.arange(float(n)).requires_grad_(grad)
    y = torch.ones(m).requires_grad_(grad)
    memory = y.data_ptr()
    WEIGHT.data, WEIGHT.grad = torch.ones(6), None
    result = fn(x, y)
    is_shared = x.data_ptr() == memory
    if grad:
        first = result[0] if isinstance(result, tuple) else result
        try:
            first.sum().backward()
        except RuntimeError as e:  # the gradient has the shape that the leaf had
            return str(e)
    return repr((result, x, y, x.grad, WEIGHT, WEIGHT.grad, is_shared))


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("grad", [False, True])
def test_data_are_assigned_as_in_eager_execution(fn: Any, grad: bool) -> None:
    whole, cut = anyshape.compile(fn, fullgraph=True), anyshape.compile(fn)
    for n, m in SIZES:
        want = outcome(fn, n, m, grad)
        assert outcome(whole, n, m, grad) == want
        assert outcome(cut, n, m, grad) == want


def test_data_that_are_not_assigned_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def shares_nothing(t: Any, value: Any) -> None:
        t.data = value.clone()

    monkeypatch.setattr(effect.set_data, "__code__", shares_nothing.__code__)
    whole = anyshape.compile(shared, fullgraph=True)
    assert outcome(whole, 6, 6, False) != outcome(shared, 6, 6, False)


def test_a_call_that_runs_again_finds_the_old_data() -> None:
    def fn(x: Any, y: Any) -> Any:
        try:
            x.data = y
            assert x.sum() > 3
        except AssertionError:
            return x - 1
        return x + 1

    compiled = anyshape.compile(fn, fullgraph=True)
    for n in (5, 2, 1, 0, 4):
        results = []
        for f in (fn, compiled):
            x, y = torch.zeros(3), torch.ones(n)
            results.append(repr((f(x, y), x, y, x.data_ptr() == y.data_ptr())))
        assert results[0] == results[1]


# ---------------------------------------------------------------------- modules


class Assigns(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.w, self.b = torch.ones(2, 3), torch.ones(2)

    def forward(self, x: Any) -> Any:
        self.linear.weight = nn.Parameter(self.w * x.size(0))
        self.linear.bias = nn.Parameter(self.b, requires_grad=False)
        return self.linear(x)


def renamed(m: Any, _: Any) -> None:
    m.kept_weight = m.weight
    new = m.weight + 1.0
    del m.weight
    m.weight = new


def restored(m: Any, _: Any, __: Any) -> None:
    kept = m.kept_weight
    del m.weight
    m.weight = kept
    del m.kept_weight


class Hooked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.linear.register_forward_pre_hook(renamed)
        self.linear.register_forward_hook(restored)

    def forward(self, x: Any) -> Any:
        return self.linear(x)


class Replaces(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.c = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Any) -> Any:
        self.a = self.c
        self.shift = self.c.bias
        return self.a(x) + self.shift


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.LazyLinear(4), nn.LazyLinear(2)

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x).relu())


class Unhashable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = NoHash()

    def forward(self, x: Any) -> Any:
        return x * 2


class NoHash(nn.Module):
    def __hash__(self) -> int:
        raise TypeError("no hash")


@pytest.mark.parametrize("kind", [Assigns, Hooked, Replaces, Lazy, Unhashable])
@pytest.mark.parametrize("fullgraph", [True, False])
def test_modules_are_changed_as_in_eager_execution(kind: Any, fullgraph: bool) -> None:
    torch.manual_seed(0)
    eager = kind()
    module = kind() if kind is Unhashable else copy.deepcopy(eager)
    compiled = anyshape.compile(module, fullgraph=fullgraph)
    for n in (2, 1, 0, 3, 5, 5):
        results = []
        for m, f in ((eager, eager), (module, compiled)):
            torch.manual_seed(n)
            y = f(torch.ones(n, 3))
            state = [(k, type(p), p) for k, p in m._parameters.items()]
            for _, part in () if kind is Unhashable else m.named_modules():
                state += [(k, type(p), p) for k, p in part._parameters.items()]
            results.append(repr((y, y.requires_grad, state, sorted(vars(m)))))
        assert results[0] == results[1]
    assert compiled.pieces is None
    assert compiled.stats.eager <= 1
