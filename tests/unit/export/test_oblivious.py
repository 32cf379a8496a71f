"""Sizes that only the asserts of rules about unbacked sizes refuse."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import ConstraintViolation, Dim, RuntimeAssertError, export
from anyshape.export import oblivious

U = Dim.UNBACKED
PAIR = (torch.ones(3), torch.ones(3))
BOTH = ({0: U}, {0: U})


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def test_sizes_that_only_an_assert_refuses_are_a_violation() -> None:
    with pytest.raises(
        ConstraintViolation,
        match=r"(?s)refuses x\.size\(0\) = 0, y\.size\(0\) = 1;.*"
        r"x\.size\(0\) == y\.size\(0\) .*test_oblivious.py:\d+ in add.*Dim.DYNAMIC",
    ):
        export(add, PAIR, dynamic_shapes=BOTH)
    program = export(add, PAIR, dynamic_shapes=BOTH, allow_partial=True)
    assert not program.is_complete
    assert torch.equal(program(torch.ones(4), torch.ones(4)), torch.full((4,), 2.0))
    with pytest.raises(RuntimeAssertError):
        program(torch.ones(4), torch.ones(1))


def test_sizes_for_which_eager_execution_raises_are_none() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x @ w

    spec = ({0: U, 1: U}, {0: U, 1: U})
    program = export(f, (torch.ones(2, 3), torch.ones(3, 4)), dynamic_shapes=spec)
    assert program.is_complete
    with pytest.raises(RuntimeAssertError):
        program(torch.ones(2, 3), torch.ones(4, 4))


def test_bounds_exclude_sizes() -> None:
    spec = ({0: U(min=2)}, {0: U(min=2)})
    program = export(add, PAIR, dynamic_shapes=spec)
    assert program.is_complete
    assert program.verify((torch.ones(5), torch.ones(5))).ok


def test_a_refusal_is_not_taken_for_an_error_of_eager_execution() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = x + y
        if x.size(0) != y.size(0):
            return torch.from_numpy(z.numpy() + 1)
        return z

    program = export(f, PAIR, dynamic_shapes=BOTH)
    assert not program.is_complete


def test_every_assert_counts() -> None:
    def f(x: torch.Tensor, y: torch.Tensor, *weights: torch.Tensor) -> Any:
        for w in weights:
            _ = w @ w
        return x + y

    weights = (torch.ones(3, 3),) * 9
    spec = (*BOTH, ({0: U, 1: U},) * 9)
    with pytest.raises(ConstraintViolation, match=r"refuses .*y\.size\(0\) = 1"):
        export(f, (*PAIR, *weights), dynamic_shapes=spec)


def test_asserts_of_every_variant_count() -> None:
    def f(x: torch.Tensor, y: torch.Tensor, k: torch.Tensor) -> Any:
        return x + y if k.size(0) > 5 else x.sum() + y.sum()

    spec = (*BOTH, {0: "k"})
    with pytest.raises(ConstraintViolation, match=r"refuses .*k = 6"):
        export(f, (*PAIR, torch.ones(3)), dynamic_shapes=spec)


def test_a_search_that_was_cut_short_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x @ w

    monkeypatch.setattr(oblivious, "MAX_TRACES", 0)
    spec = ({0: U, 1: U}, {0: U, 1: U})
    program = export(f, (torch.ones(2, 3), torch.ones(3, 4)), dynamic_shapes=spec)
    assert not program.is_complete


def test_asserts_after_a_branch_on_data_prove_nothing() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        if x.sum() > 3:
            return x + y
        return x.sum() + y.sum()

    program = export(f, PAIR, dynamic_shapes=BOTH)
    assert not program.is_complete
