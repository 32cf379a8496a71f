"""Ops without a rule that write to several operands: what was known of each is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape
from anyshape.rules.dispatch.changed import changed_by

if TYPE_CHECKING:
    from collections.abc import Callable


def unscaled(g: torch.Tensor) -> torch.Tensor:
    found, factor = torch.full((), 0.0), torch.full((), 0.5)
    torch._amp_foreach_non_finite_check_and_unscale_([g], found, factor)
    return g + 1 if not found.item() else g * 0


def grown(g: torch.Tensor) -> torch.Tensor:
    scale, count, found = torch.full((), 2.0), torch.full((), 1, dtype=torch.int32), g.sum()
    torch._amp_update_scale_(scale, count, found, 2.0, 0.5, 2)
    return g * scale if count.item() == 0 else g - scale


def observed(g: torch.Tensor) -> torch.Tensor:
    low, high = torch.full((1,), 0.0), torch.full((1,), 0.0)
    scale, zero = torch.full((1,), 1.0), torch.full((1,), 0, dtype=torch.int32)
    on = torch.full((1,), 1)
    torch.fused_moving_avg_obs_fake_quant(
        g, on, on, low, high, scale, zero, 0.5, 0, 255, -1, False, False
    )
    return g + 1 if high.item() > 1 else g - 1


@pytest.mark.parametrize("f", [unscaled, grown, observed])
@pytest.mark.parametrize("dynamic", [None, False, "unbacked"])
def test_a_number_that_an_op_has_changed(f: Callable[..., Any], dynamic: Any) -> None:
    compiled = anyshape.compile(f, dynamic=dynamic)
    for x in ([1.0, 2.0], [float("inf"), 0.0], [0.0, 0.0], [4.0], [float("inf")]):
        got, want = compiled(torch.tensor(x)), f(torch.tensor(x))
        assert torch.equal(got.nan_to_num(7.0), want.nan_to_num(7.0))


def test_all_written_operands_are_told() -> None:
    a, b, c = torch.ones(()), torch.ones((), dtype=torch.int32), torch.zeros(())
    written = changed_by(torch._amp_update_scale_, (a, b, c, 2.0, 0.5, 2), {}, None)
    assert [x is y for x, y in zip(written, (a, b), strict=True)] == [True, True]
    assert changed_by(torch.add, (a, c), {}, None) == []
    assert changed_by(torch.Tensor.add_, (a, c), {}, None) == [a]
