"""Which calls may warn when they run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.interop.kernel_warning import may_warn
from anyshape.trace import capture

COMPLEX = torch.ones(3, 2, dtype=torch.complex64)


@pytest.mark.parametrize(
    ("body", "warns"),
    [
        (lambda x: torch.tensor(x) * 2, True),
        (lambda x: torch.tensor([1.0]) + x, False),
        (lambda x: x.std(), False),
        (lambda x: x[:1, :1].std(), True),
        (lambda x: x[:1].var(0), True),
        (lambda x: x[:1].var(1), False),
        (lambda x: torch.var(x[:1], 0, unbiased=False), False),
        (lambda x: torch.std_mean(x, dim=(0, 1), correction=6), True),
        (lambda x: x.new_zeros(3, 2).copy_(COMPLEX), True),
        (lambda x: COMPLEX.float() + x, True),
        (lambda x: x.double() + COMPLEX, False),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_calls_that_may_warn(body: Any, warns: bool) -> None:
    captured = capture(body, (torch.ones(3, 2),))
    assert any(map(may_warn, captured.graph.nodes)) is warns
