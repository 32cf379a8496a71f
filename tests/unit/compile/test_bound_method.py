"""Compiled methods: of temporaries, of objects that are equal, hashable or not, and their lives."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import os
import pickle
import weakref
from typing import Any

import pytest
import torch

import anyshape
from anyshape.compile.bound_method import Methods


class Layer:
    def __init__(self, k: float) -> None:
        self.k = k
        self.calls = 0

    @anyshape.compile
    def step(self, x: Any) -> Any:
        """Scale."""
        return x * self.k

    @anyshape.compile
    def count(self, x: Any) -> Any:
        self.calls += 1
        self.last = x + 1
        return x * self.k

    @anyshape.compile
    def with_self(self, x: Any) -> Any:
        return self, x * self.k

    @anyshape.compile
    def branching(self, x: Any) -> Any:
        return x * self.k if x.sum() > 0 else x

    @anyshape.compile
    def in_pieces(self, x: Any) -> Any:
        y = x * self.k
        open(os.devnull).close()
        return y + 1

    @anyshape.compile(backend="aot_eager")
    def lowered(self, x: Any) -> Any:
        return self, x * self.k


METHODS = ("step", "count", "with_self", "branching", "in_pieces", "lowered")


def value(out: Any) -> Any:
    return (out[1] if type(out) is tuple else out).tolist()


@pytest.mark.parametrize("name", METHODS)
def test_a_temporary_lives_for_the_call(name: str) -> None:
    add = 1.0 if name == "in_pieces" else 0.0
    for n in (3, 3, 0, 1):
        assert value(getattr(Layer(2.0), name)(torch.ones(n))) == [2.0 + add] * n
    kept = getattr(Layer(3.0), name)
    gc.collect()
    assert value(kept(torch.ones(2))) == [3.0 + add] * 2


@pytest.mark.parametrize("name", METHODS)
def test_programs_do_not_keep_the_object(name: str) -> None:
    o = Layer(2.0)
    ref = weakref.ref(o)
    for n in (3, 3, 4):
        getattr(o, name)(torch.ones(n))
    del o
    gc.collect()
    assert ref() is None


def test_objects_are_known_by_identity() -> None:
    @dataclasses.dataclass(frozen=True)
    class Equal:
        k: float
        shift: float = dataclasses.field(compare=False)

        @anyshape.compile
        def step(self, x: Any) -> Any:
            return x * self.k + self.shift

    a, b = Equal(1.0, 2.0), Equal(1.0, 5.0)
    assert a == b
    assert value(a.step(torch.ones(2))) == [3.0, 3.0]
    assert value(b.step(torch.ones(2))) == [6.0, 6.0]


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k: float) -> None:
        self.k = k

    @anyshape.compile
    def step(self, x: Any) -> Any:
        return x * self.k


class Items(list):  # type: ignore[type-arg]
    @anyshape.compile
    def step(self, x: Any) -> Any:
        return x * self[0]


class Number(float):
    @anyshape.compile
    def step(self, x: Any) -> Any:
        return x * float(self)


@pytest.mark.parametrize("kind", [Slotted, lambda k: Items([k]), Number])
def test_any_object_has_methods(kind: Any) -> None:
    for k in (2.0, 2.0, 3.0):
        assert value(kind(k).step(torch.ones(3))) == [k] * 3


def test_it_is_like_a_bound_method() -> None:
    o = Layer(2.0)
    method = o.step
    assert method == o.step
    assert hash(method) == hash(o.step)
    assert method != Layer(2.0).step
    assert method.__self__ is o
    assert (method.__name__, method.__doc__, method.__module__) == ("step", "Scale.", __name__)
    assert str(inspect.signature(method)) == "(x: 'Any') -> 'Any'"
    assert repr(method) == "<compiled Layer.step: 0 entries>"
    assert "step" in method._repr_html_()
    for other in (copy.deepcopy(method), pickle.loads(pickle.dumps(method))):
        assert other.__self__ is not o
        assert value(other(torch.ones(1))) == [2.0]
    assert value(anyshape.compile(method, dynamic=True)(torch.ones(2))) == [2.0, 2.0]


def test_inside_a_trace_a_temporary_has_methods() -> None:
    fn = anyshape.compile(lambda x: Layer(4.0).step(x), fullgraph=True)
    assert value(fn(torch.ones(2))) == [4.0, 4.0]


def test_the_table_goes_by_identity() -> None:
    made: list[Any] = []
    methods = Methods(lambda method: made.append(method) or method)
    a, b = Layer(1.0), Layer(1.0)
    assert methods.of(a, Layer.step.fn) == methods.of(a, Layer.step.fn)
    assert methods.of(a, Layer.step.fn) != methods.of(b, Layer.step.fn)
    assert [m.__self__ for m in made] == [a, b]
    methods.clear()
    assert methods.of(a, Layer.step.fn).compiled is made[2]
    assert methods.of(3, Layer.step.fn) is None
