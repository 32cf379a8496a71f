"""Calls that mean the same have one form, and so one entry."""

from __future__ import annotations

import functools

import pytest
import torch

import anyshape
from anyshape.compile.cache.call_form import CallForm


def both(a, /, b=2, *rest, c=3, **more):
    return a, b, rest, c, more


def test_every_parameter_has_a_value():
    form = CallForm(both)
    assert form((1,), {}) == ((1, 2), {"c": 3})
    assert form((1,), {"b": 5, "z": 6}) == ((1, 5), {"c": 3, "z": 6})
    assert form((1, 5, 7, 8), {"z": 1, "y": 2, "c": 4}) == ((1, 5, 7, 8), {"c": 4, "z": 1, "y": 2})
    assert list(form((1,), {"z": 1, "y": 2})[1]) == ["c", "z", "y"]
    assert form.omitted(1, {"z": 6}) == {"b", "c"}


def test_calls_that_the_function_refuses_stay_as_they_are():
    form = CallForm(both)
    assert form((), {"a": 1}) == ((), {"a": 1})
    assert CallForm(lambda x: x)((1, 2), {}) == ((1, 2), {})


def test_defaults_are_those_of_the_moment():
    def f(x, k=1, *, m=2):
        return x

    form = CallForm(f)
    assert form((0,), {}) == ((0, 1), {"m": 2})
    f.__defaults__ = (5,)
    f.__kwdefaults__["m"] = 6
    assert form((0,), {}) == ((0, 5), {"m": 6})


def test_the_spelling_of_a_wrapper_is_its_own():
    @functools.wraps(both)
    def wrapper(*args, **kwargs):
        return both(*args, **kwargs)

    assert CallForm(wrapper)((1,), {"b": 4}) == ((1,), {"b": 4})


def test_hooks_of_a_module_see_the_spelling():
    class Scale(torch.nn.Module):
        def forward(self, x, k=2.0):
            return x * k

    m = Scale()
    form = CallForm(m)
    assert form((1,), {}) == ((1, 2.0), {})
    seen = []
    m.register_forward_pre_hook(lambda m, a, k: seen.append(k), with_kwargs=True)
    assert form((1,), {"k": 3.0}) == ((1,), {"k": 3.0})


@pytest.mark.parametrize("dynamic", [None, True, False, "unbacked"])
def test_one_entry_for_all_spellings(dynamic):
    def f(x, k=2, *, bias=0.5, **more):
        return x * k + bias

    ours = anyshape.compile(f, dynamic=dynamic)
    x = torch.ones(3)
    calls = [
        ((x,), {}),
        ((x, 2), {}),
        ((x,), {"bias": 0.5, "k": 2}),
        ((), {"k": 2, "x": x}),
        ((x,), {"k": 2, "bias": 0.5}),
    ]
    for args, kwargs in calls:
        assert torch.equal(ours(*args, **kwargs), f(*args, **kwargs))
    assert len(ours.entries) == 1
    assert torch.equal(ours(x, 3), f(x, 3))


@pytest.mark.parametrize("dynamic", [True, "unbacked"])
def test_a_default_is_a_constant(dynamic):
    """Defaults are not symbols: `layers` decides how often the loop runs."""

    def f(x, layers=3):
        for _ in range(layers):
            x = x + 1
        return x

    ours = anyshape.compile(f, dynamic=dynamic, fullgraph=True)
    assert torch.equal(ours(torch.zeros(4)), torch.full((4,), 3.0))
    assert torch.equal(ours(torch.zeros(5), layers=3), torch.full((5,), 3.0))
    assert len(ours.entries) == 1
