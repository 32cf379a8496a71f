"""Counters of loops as symbols: what is known of them, and what a wrong answer would do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.config import config
from anyshape.errors import DataDependentError
from anyshape.export import Dim, export
from anyshape.export.branches import widening
from tests.unit.export.branches.loop_programs import LOOPS, Layers
from tests.unit.export.branches.test_branching import calls, outcome, same


def differs(name: str) -> bool:
    case = LOOPS[name]
    program = case.export()
    return not all(same(outcome(program, a), outcome(case.fn, a)) for a in calls(name))


def known_of_counter(x: torch.Tensor) -> Any:
    """That the counter is never negative is known by induction, so a branch on that is none."""
    i = 0
    while (x.abs() > 1).any():
        x = x / 2 if i >= 0 else x * 0
        i += 1
    return x, i


def test_what_is_known_by_induction_is_no_branch() -> None:
    program = export(known_of_counter, (torch.randn(4),), dynamic_shapes=({0: Dim("n")},))
    assert [len(v.parts) for v in program.variants] == [5]
    assert {b.question for v in program.variants for b in v.branches} == {
        "u0 == 1",
        "u2 == 1",
        "u4 == 1",
    }


def up_and_down(x: torch.Tensor) -> Any:
    """A counter that grows for some rounds and falls after."""
    i = 0
    while (x.abs() > 0.01).any():
        x = x / 2
        i = i + 1 if (x.abs() > 0.25).any() else i - 1
    return x if i >= 0 else x * 0 + i


def test_a_counter_that_does_not_only_grow() -> None:
    program = export(up_and_down, (torch.randn(4),), dynamic_shapes=({0: Dim("n")},))
    for n in (0, 1, 2, 5):
        for scale in (0.02, 0.2, 1.0, 50.0):
            x = torch.full((n,), scale)
            assert torch.equal(program(x), up_and_down(x))


def test_a_bound_that_was_not_proved_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widening, "decide", lambda *_: True)
    program: Any = export(up_and_down, (torch.randn(4),), dynamic_shapes=({0: Dim("n")},))
    x = torch.full((3,), 0.2)
    assert not torch.equal(program(x), up_and_down(x))


def one_more(n: Any) -> Any:
    return n + 1


@pytest.mark.parametrize("name", ["counter", "two_counters", "solved"])
def test_a_round_that_is_counted_twice_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(widening, "same_number", one_more)
    assert differs(name)


def test_a_counter_that_cannot_be_a_symbol_is_named() -> None:
    with config.patch(segment_limit=16), pytest.raises(DataDependentError) as found:
        export(Layers().eval(), (torch.randn(3, 1),))
    assert "with the numbers that change as symbols: cannot turn" in str(found.value)
    assert "x = self.layers[i](x)" in str(found.value)


def test_a_few_rounds_are_unrolled() -> None:
    def four(x: torch.Tensor) -> Any:
        i = 0
        while i < 4 and (x > 0).any():
            x = x - 1
            i += 1
        return x

    program = export(four, (torch.randn(4),), dynamic_shapes=({0: Dim("n")},))
    assert "same_number" not in program.code
    for n in (0, 1, 3):
        for value in (-1.0, 0.5, 2.5, 9.0):
            assert torch.equal(program(torch.full((n,), value)), four(torch.full((n,), value)))


def test_gradients_go_through_tensors_that_grow() -> None:
    case = LOOPS["grown"]
    program = case.export()
    x = torch.tensor([5.0, 6.5], requires_grad=True)
    y = x.detach().clone().requires_grad_()
    program(x)[0].sum().backward()
    case.fn(y)[0].sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert torch.equal(x.grad, y.grad)
