"""Special methods of compiled modules are those of the original: `len`, `[]`, `in`, `if m:`."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest
import torch

import anyshape
from anyshape.compile import compiled_module

SIZES = (0, 1, 2, 5)


class Layers(torch.nn.ModuleList):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self:
            x = layer(x)
        return x


class Scaled(torch.nn.Module):
    """A module with operators of its own, which are no methods of modules."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by

    def __bool__(self) -> bool:
        return self.by != 0

    def __mul__(self, other: float) -> Scaled:
        return Scaled(self.by * other)

    def __enter__(self) -> Scaled:
        return self

    def __exit__(self, *_: object) -> None:
        self.by += 1


def two() -> Layers:
    return Layers([torch.nn.Linear(3, 3), torch.nn.ReLU()])


def test_truth_and_length() -> None:
    for layers in (Layers(), two()):
        compiled = anyshape.compile(layers)
        assert bool(compiled) == bool(layers)
        assert len(compiled) == len(layers)
        assert [*compiled] == [*layers]


def test_items() -> None:
    layers = two()
    compiled = anyshape.compile(layers)
    assert compiled[0] is layers[0]
    assert layers[1] in compiled
    compiled[1] = torch.nn.Tanh()
    compiled += [torch.nn.Sigmoid()]
    assert isinstance(compiled, compiled_module.CompiledModule)
    assert len(layers) == 3
    for n in SIZES:
        x = torch.full((n, 3), 0.3)
        torch.testing.assert_close(compiled(x), layers(x))
    del compiled[0]
    assert len(layers) == 2


def test_operators_of_the_class() -> None:
    compiled = anyshape.compile(Scaled(2.0))
    assert (compiled * 3).by == 6
    with compiled as entered:
        assert entered is compiled
    for n in SIZES:
        torch.testing.assert_close(compiled(torch.ones(n)), torch.full((n,), 3.0))
    assert not anyshape.compile(Scaled(0.0))


class Counted:
    """A base that comes after `torch.nn.Module`."""

    def __len__(self) -> int:
        return 0


class Mixed(torch.nn.Module, Counted):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Equal(torch.nn.Module):
    """Equal to others of its class, with the hash of an object."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    __hash__ = torch.nn.Module.__hash__


class Forbidden(torch.nn.Module):
    """Python would find its items through `__getitem__`."""

    __iter__ = None
    __add__ = functools.partialmethod(lambda self, a, b: (a, b), 1)

    def __getitem__(self, i: int) -> int:
        return [7, 8][i]


def test_methods_of_a_base_after_module() -> None:
    compiled = anyshape.compile(Mixed())
    assert not compiled
    assert len(compiled) == 0


def test_a_hash_beside_an_equality() -> None:
    module = Equal()
    compiled = anyshape.compile(module)
    assert compiled == Equal()
    assert hash(compiled) == hash(module)
    assert list(compiled.modules()) == [compiled]


def test_what_a_class_forbids() -> None:
    compiled = anyshape.compile(Forbidden())
    assert compiled[1] == 8
    assert compiled + 2 == (1, 2)
    with pytest.raises(TypeError, match="not iterable"):
        list(compiled)


def test_a_module_without_a_length_has_none() -> None:
    compiled = anyshape.compile(torch.nn.ReLU())
    assert compiled
    assert type(compiled) is compiled_module.CompiledModule
    with pytest.raises(TypeError, match="len"):
        len(compiled)


def test_a_copy_has_the_methods() -> None:
    compiled = anyshape.compile(two())
    twin = copy.deepcopy(compiled)
    twin.append(torch.nn.Tanh())
    assert (len(compiled), len(twin)) == (2, 3)


def around(m: Any, x: torch.Tensor) -> Any:
    if not m:
        return x
    return m(x) * len(m), m[0](x)


@pytest.mark.parametrize("make", [Layers, two])
def test_inside_of_another_trace(make: Any) -> None:
    layers = make()
    inner = anyshape.compile(layers)
    outer = anyshape.compile(around, fullgraph=True)
    for n in SIZES:
        x = torch.full((n, 3), 0.3)
        torch.testing.assert_close(outer(inner, x), around(layers, x))
    layers.append(torch.nn.Linear(3, 3))
    x = torch.full((4, 3), 0.3)
    torch.testing.assert_close(outer(inner, x), around(layers, x))


def test_without_the_methods_an_empty_container_is_true(monkeypatch: Any) -> None:
    monkeypatch.setattr(compiled_module, "special_methods", lambda _: ())
    assert anyshape.compile(Layers())
