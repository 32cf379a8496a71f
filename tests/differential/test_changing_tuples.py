"""Tuples of numbers outside a program that are replaced from call to call: elements are inputs."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

import anyshape
from anyshape.trace.argument.attribute import Elements

if TYPE_CHECKING:
    import pytest

held = types.SimpleNamespace(pair=(0.5, 2))
group: dict[str, Any] = {}

STEADY = [(0.1 * i, 0.9) for i in range(12)]
UNSTEADY = [(0.5, 2), (0.7, 2), (0.9, 2), (0.9, 2, 3), (1, 2), (1.5, 2), [0.5, 2], (0.5,), (0.3, 4)]


def used(x: torch.Tensor) -> torch.Tensor:
    first, *others = group["betas"]
    return x * first + sum(others) + held.pair[0] * len(held.pair)


def run(values: list[Any]) -> tuple[str, Any]:
    """The first call that differs from eager, and the compiled function."""
    compiled = anyshape.compile(used)
    for i, value in enumerate(values):
        group["betas"] = held.pair = value
        x = torch.ones(2)
        if not torch.equal(compiled(x), used(x)):
            return f"call {i}", compiled
    return "", compiled


def test_one_program_serves_all_values() -> None:
    different, compiled = run(STEADY)
    assert different == ""
    assert compiled.stats.traces <= 4
    assert compiled.stats.hits >= 8


def test_other_lengths_and_kinds_are_noticed() -> None:
    assert run(UNSTEADY)[0] == ""


def test_a_length_that_is_not_looked_at_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: a tuple of another length passes."""
    monkeypatch.setattr(Elements, "__getitem__", lambda self, i: self.owner[self.key][i])
    assert run(UNSTEADY)[0] != ""
