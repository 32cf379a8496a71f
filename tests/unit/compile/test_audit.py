"""An audit finds a program that its function does not have any more."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import AuditError

FACTOR = 2
WEIGHT = torch.ones(3)


def scaled(x: Any) -> Any:
    return x * FACTOR + WEIGHT


class Counter:
    def __init__(self) -> None:
        self.calls = 0
        self.log: list[int] = []

    def step(self, x: Any) -> Any:
        self.calls += 1
        self.log.append(x.size(0))
        return x * self.calls


def test_programs_that_are_right_pass() -> None:
    counter = Counter()
    step = anyshape.compile(counter.step)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = anyshape.compile(model)
    with anyshape.audit():
        for n in range(2, 9):
            assert torch.equal(step(torch.ones(n)), torch.full((n,), float(n - 1)))
            x = torch.randn(n, 3)
            assert torch.equal(compiled(x), model(x))
    assert counter.log == list(range(2, 9))
    assert step.stats.hits >= 4
    assert compiled.stats.hits >= 4


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("FACTOR", 5, "FACTOR"), ("WEIGHT", torch.zeros(3), "WEIGHT|tensor")],
)
def test_a_guard_that_is_missing_is_found(
    name: str, value: Any, text: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = anyshape.compile(scaled, backend=backend)
    x = torch.ones(3)
    compiled(x)
    monkeypatch.setattr(compiled.entries[0].watch, "tests", ())  # the planted bug
    monkeypatch.setitem(globals(), name, value)
    stale = compiled(x)
    assert not torch.equal(stale, scaled(x))
    with anyshape.audit(), pytest.raises(AuditError, match=text):
        compiled(x)


def test_without_an_audit_nothing_is_traced_again() -> None:
    compiled = anyshape.compile(scaled)
    compiled(torch.ones(3))
    compiled(torch.ones(3))
    assert compiled.stats.traces == 1
    assert anyshape.config.audit is False
