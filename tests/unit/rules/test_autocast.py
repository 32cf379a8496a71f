"""Autocast: dtypes of results are eager's, whichever list an op is in."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.rules import autocast
from anyshape.trace import capture
from tests.differential.replay import Replay

PROGRAMS: dict[str, Any] = {
    "matmul": lambda a, b: a @ b,
    "reflected matmul": lambda a, b: torch.Tensor.__rmatmul__(b, a),
    "mm": torch.mm,
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "mv": lambda a, b: torch.mv(a, b[0]),
    "dot": lambda a, b: torch.dot(a[0], b[0]),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "addmv": lambda a, b: torch.addmv(a[0], a, b[0]),
    "linear": F.linear,
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "vecdot": torch.linalg.vecdot,
    "pinv": lambda a, b: torch.linalg.pinv(a),
    "conv1d": lambda a, b: F.conv1d(a[None], b[:, :, None]),
    "attention": lambda a, b: F.scaled_dot_product_attention(
        a[None, None], b[None, None], b[None, None]
    ),
    "prelu": lambda a, b: F.prelu(a, b[0]),
    "prod": lambda a, b: (a @ b).prod(0),
    "trace": lambda a, b: (a @ b).trace(),
    "cdist": lambda a, b: torch.cdist(a @ b, b),
    "mse_loss": lambda a, b: F.mse_loss(a @ b, a @ b),
    "cross_entropy": lambda a, b: F.cross_entropy(a @ b, torch.zeros(4, dtype=torch.int64)),
    "inverse": lambda a, b: torch.linalg.inv(a @ b + torch.eye(4) * 9),
    "fft": lambda a, b: torch.fft.rfft(a @ b),
    "softmax": lambda a, b: torch.softmax(a @ b, -1),
    "layer_norm": lambda a, b: F.layer_norm(a @ b, (4,)),
    "sum": lambda a, b: (a @ b).sum(),
    "mixed add": lambda a, b: (a @ b) + b,
    "cat": lambda a, b: torch.cat([a @ b, b]),
    "double": lambda a, b: a.double() @ b.double(),
    "integers": lambda a, b: (a > 0).long() * 2,
    "lstm": lambda a, b: torch.lstm_cell(
        a, (b, b), [torch.ones(16, 4), torch.ones(16, 4)][0], torch.ones(16, 4)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes_are_eagers(name: str) -> None:
    def f(a: torch.Tensor, b: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return PROGRAMS[name](a, b)

    args = (torch.rand(4, 4), torch.rand(4, 4))
    captured = capture(f, args, dynamic="static")
    assert Replay(captured, list(args)).run(strides=False) == []


def test_a_planted_mistake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(autocast.POLICIES["cpu"], "matmul")
    with pytest.raises(AssertionError):
        test_dtypes_are_eagers("matmul")
