"""One lowering for sizes of 1 and of more: models with unbacked sizes, called at all of them.

A call with an empty tensor either gives what eager execution gives, or an error where that gives
one; it needs no new lowering either.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape
from anyshape import events
from anyshape.interop.size_guards import GuardSorter

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PAIRS = ((3, 5), (1, 5), (3, 1), (1, 1), (2, 2), (7, 7), (1, 64), (13, 1), (2, 3), (5, 40))
EMPTY = ((0, 3), (2, 0), (0, 0))
W = 16


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(W, 3 * W), nn.Linear(W, W)

    def forward(self, x: Any) -> Any:
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, 4, W // 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(b, t, W))


class Flat(nn.Module):
    """Views that torch computes strides of."""

    def forward(self, x: Any) -> Any:
        b, t, _ = x.shape
        y = x.transpose(0, 1).reshape(b * t, W)
        z = y.view(t, b, W).permute(1, 2, 0)
        return F.softmax(z.flatten(1), -1), torch.matmul(x, z)


class Convolved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(W, W, 3, padding=1), nn.GroupNorm(2, W)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.norm(self.conv(x.transpose(1, 2)))).mean(-1)


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(W, 2, 2 * W, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)


MODELS = {"attention": Attending, "encoder": encoder, "views": Flat, "convolution": Convolved}


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def lowerings(name: str, backend: str, pairs: Any) -> int:
    """How many times the program of a model is lowered for these sizes; compares all results."""
    torch.manual_seed(0)
    model = MODELS[name]().to(DEVICE).eval()
    compiled = anyshape.compile(model, dynamic="unbacked", fullgraph=True, backend=backend)
    seen: list[Any] = []
    with torch.no_grad(), events.subscribe(seen.append, events.Lowering):
        for b, t in pairs:
            x = torch.randn(b, t, W, device=DEVICE)
            want = error = None
            try:
                want = flat(model(x))
            except (RuntimeError, ValueError) as e:
                error = e
            if want is None:
                with pytest.raises((type(error), RuntimeError)):
                    compiled(x)
                continue
            torch.testing.assert_close(flat(compiled(x)), want, rtol=1e-4, atol=1e-5)
    return len(seen)


@pytest.mark.parametrize("name", MODELS)
def test_one_lowering_of_autograd_serves_all_sizes(name: str) -> None:
    assert lowerings(name, "aot_eager", (*PAIRS, *EMPTY)) == 1


def test_one_lowering_of_inductor_serves_all_sizes() -> None:
    assert lowerings("encoder", "inductor", (*PAIRS, *EMPTY)) == 1


def test_the_suite_finds_guards_about_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardSorter, "_follows", lambda *_: False)
    assert lowerings("views", "inductor", ((3, 5), (1, 5), (3, 1))) > 1
