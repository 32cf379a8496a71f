"""Inputs that a trace was not made for: the program is right for them, or refuses them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from anyshape.errors import AnyshapeError
from anyshape.trace import capture
from tests.differential.agree import KINDS
from tests.differential.snippet import B, S

if TYPE_CHECKING:
    from collections.abc import Callable

    Tensor = torch.Tensor


ROW = torch.randn(B, S)
OTHER_INPUTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "one tensor twice, then two": (lambda a, b: a + 2 * b, (ROW, ROW), (ROW, ROW + 1)),
    "two tensors, then one twice": (
        lambda a, b: (a.add_(1), a * b)[1], (ROW, ROW + 1), (twin := ROW.clone(), twin),
    ),
    "another layout": (
        lambda a: a * 1 if a.is_contiguous() else a * 2, (ROW,), (torch.randn(S, B).t(),),
    ),
    "another stride": (
        lambda a: a.new_full((2,), a.stride(0)), (ROW,), (torch.randn(S, B).t(),),
    ),
    "another offset": (
        lambda a: a.new_full((2,), a.storage_offset()), (ROW,), (torch.randn(6, S)[3:],),
    ),
    "gradients": (
        lambda a: a * 1 if a.requires_grad else a * 2, (ROW,), (ROW.clone().requires_grad_(),),
    ),
    "a float": (lambda a, k: a * k, (ROW, 2.0), (ROW, 3.0)),
    "a bool": (lambda a, k: a * 2 if k else a, (ROW, True), (ROW, False)),
    "an integer": (lambda a, k: a * k, (ROW, 2), (ROW, 3)),
    "a string": (lambda a, k: a * len(k), (ROW, "a"), (ROW, "bc")),
    "None": (lambda a, k: a if k is None else a * k, (ROW, None), (ROW, 2)),
    "a complex number": (lambda a, k: a * k, (ROW, 2j), (ROW, 3j)),
    "a dtype": (lambda a, k: a.to(k), (ROW, torch.float64), (ROW, torch.float16)),
    "a function": (lambda a, k: k(a), (ROW, torch.sin), (ROW, torch.cos)),
    "a number of numpy": (lambda a, k: a * k, (ROW, np.float32(2)), (ROW, np.float32(3))),
    "another dtype": (lambda a: a * 2, (ROW,), (ROW.double(),)),
    "another rank": (lambda a: a.sum(-1), (ROW,), (ROW[None],)),
    "no tensor": (lambda a: a * 2, (ROW,), (2.0,)),
    "another structure": (lambda a: a[0] * 2, ([ROW],), ((ROW,),)),
    "more": (lambda *a: sum(a), (ROW,), (ROW, ROW)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OTHER_INPUTS)
def test_inputs_that_the_trace_was_not_made_for(name: str, kind: str) -> None:
    fn, example, other = OTHER_INPUTS[name]
    captured = capture(fn, example, dynamic=kind)
    torch.testing.assert_close(captured(*fresh(example)), fn(*fresh(example)))
    try:
        actual = captured(*fresh(other))
    except AnyshapeError:
        return
    torch.testing.assert_close(actual, fn(*fresh(other)))


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies; the strides, the offset and what is one tensor stay."""
    return copy.deepcopy(args)
