"""Training steps of a small transformer with changing batches and lengths, against eager execution.

One program serves all sizes; the parameters change between the steps, and gradients reach them.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.interop import runtime_wrapper

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = ((4, 10), (3, 7), (8, 2), (2, 33), (5, 10))


class Model(nn.Module):
    """Embedded words, one layer of a transformer, and a score for each next word."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.scores = nn.Linear(16, 11)

    def forward(self, words: Any, wanted: Any) -> Any:
        scores = self.scores(self.layer(self.words(words)))
        return nn.functional.cross_entropy(scores.reshape(-1, 11), wanted.reshape(-1))


class Block(nn.Module):
    """The same words and scores around attention alone: what Inductor compiles in some seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.norm = nn.LayerNorm(16)
        self.parts = nn.Linear(16, 48)
        self.scores = nn.Linear(16, 11)

    def forward(self, words: Any, wanted: Any) -> Any:
        batch, length = words.shape
        x = self.words(words)
        parts = self.parts(self.norm(x)).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*parts.unbind(0)).transpose(1, 2)
        scores = self.scores(x + y.reshape(batch, length, 16))
        return nn.functional.cross_entropy(scores.reshape(-1, 11), wanted.reshape(-1))


def losses(model: nn.Module, step: Any, device: str) -> list[float]:
    """The losses of training steps, each at another size."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for batch, length in SIZES:
        words, wanted = torch.randint(0, 11, (2, batch, length), device=device)
        optimizer.zero_grad()
        loss = step(words, wanted)
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return found


def check(kind: Any, backend: Any, dynamic: Any, device: str = "cpu") -> None:
    torch.manual_seed(0)
    model = kind().to(device)
    twin = copy.deepcopy(model)
    compiled = anyshape.compile(model, dynamic=dynamic, fullgraph=True, backend=backend)
    got, want = losses(model, compiled, device), losses(twin, twin, device)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
    assert compiled.stats.traces == 1
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dynamic", [True, "unbacked"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_the_losses_are_eagers(backend: str, dynamic: Any) -> None:
    check(Model, backend, dynamic)


def test_the_losses_are_eagers_with_inductor() -> None:
    check(Block, "inductor", "unbacked", DEVICE)


def test_the_suite_finds_parameters_that_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    original = runtime_wrapper.to_backend_fx

    def copying(graph: Any, *args: Any) -> Any:
        for place, (value, tensor) in enumerate(graph.constants):
            graph.constants[place] = (value, tensor.detach().clone().requires_grad_())
        return original(graph, *args)

    monkeypatch.setattr(runtime_wrapper, "to_backend_fx", copying)
    with pytest.raises(AssertionError):
        check(Block, "aot_eager", True)
