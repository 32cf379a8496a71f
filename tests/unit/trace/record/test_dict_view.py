"""Read-only proxies of mappings: a program serves as long as they hold the same."""

from __future__ import annotations

import inspect
from types import MappingProxyType

import torch

import anyshape


def two(a: int, b: int) -> int:
    return a + b


def test_parameters_of_a_signature_are_one_program() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * len(inspect.signature(two).parameters)

    compiled = anyshape.compile(f, dynamic=True)
    for n in (3, 4, 5):
        assert torch.equal(compiled(torch.ones(n)), 2 * torch.ones(n))
    assert compiled.stats.traces == 1


def test_a_change_behind_a_proxy_is_another_program() -> None:
    held = {"k": 2.0}
    proxy = MappingProxyType(held)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * sum(proxy.values())

    compiled = anyshape.compile(f, dynamic=True)
    for k in (2.0, 2.0, 3.0):
        held["k"] = k
        assert torch.equal(compiled(torch.ones(3)), k * torch.ones(3))
    assert compiled.stats.traces == 2
