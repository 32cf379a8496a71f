"""Modules and functions of PyTorch itself, as its tutorials use them."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.zoo.case import Case


def transformer() -> Case:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Case(model, [(torch.randn(b, s, 16),) for b, s in ((3, 5), (1, 7), (2, 1), (4, 9))])


def lstm() -> Case:
    model = nn.LSTM(8, 16, 2, batch_first=True)
    return Case(model, [(torch.randn(b, s, 8),) for b, s in ((3, 5), (1, 7), (2, 1))])


def gru_cell() -> Case:
    cell = nn.GRUCell(8, 8)

    class Steps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
            for i in range(4):
                h = self.cell(x[i], h)
            return h

    return Case(Steps(), [(torch.randn(4, b, 8), torch.randn(b, 8)) for b in (3, 1, 0, 5)])


def attention() -> Case:
    model = nn.MultiheadAttention(16, 4, batch_first=True)
    sizes = ((3, 5, 6), (1, 2, 9), (2, 1, 1))
    return Case(
        model,
        [(torch.randn(b, s, 16), *[torch.randn(b, t, 16)] * 2) for b, s, t in sizes],
        trains=False,  # one tensor is given twice
    )


def conv_net() -> Case:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
    )  # fmt: skip
    sizes = ((2, 16, 20), (1, 32, 32), (3, 17, 9), (0, 16, 16))
    return Case(model, [(torch.randn(b, 3, h, w),) for b, h, w in sizes])


def embedding_bag() -> Case:
    model = nn.EmbeddingBag(50, 8, mode="mean")
    offsets = torch.tensor([0, 2, 3])
    return Case(model, [(torch.randint(0, 50, (n,)), offsets) for n in (7, 4, 12)])


def masked_mean() -> Case:
    def mean(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept = x[mask]
        return kept.mean(0) if kept.numel() > 0 else x.new_zeros(x.shape[1])

    calls: list[Any] = [(torch.randn(n, 4), torch.rand(n) > 0.5) for n in (6, 1, 0, 9)]
    return Case(mean, [*calls, (torch.randn(3, 4), torch.zeros(3, dtype=torch.bool))], trains=False)


def pad_and_unfold() -> Case:
    def windows(x: torch.Tensor) -> torch.Tensor:
        extra = -x.shape[-1] % 4
        return functional.pad(x, (0, extra)).unfold(-1, 4, 4).softmax(-1)

    return Case(windows, [(torch.randn(b, n),) for b, n in ((2, 10), (1, 4), (3, 1), (2, 17))])


def ctc_loss() -> Case:
    def loss(x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        n = x.shape[1]
        lengths = torch.full((n,), x.shape[0], dtype=torch.long)
        wanted = torch.full((n,), targets.shape[1], dtype=torch.long)
        return functional.ctc_loss(x.log_softmax(-1), targets, lengths, wanted)

    sizes = ((12, 2, 4), (9, 1, 3), (20, 3, 1))
    return Case(loss, [(torch.randn(t, n, 6), torch.randint(1, 6, (n, s))) for t, n, s in sizes])


def newton() -> Case:
    def solve(x: torch.Tensor) -> torch.Tensor:
        root = x.clone() + 1
        while (root * root - x).abs().max() > 1e-3:
            root = (root + x / root) / 2
        return root

    return Case(solve, [(torch.rand(n) + 1,) for n in (5, 1, 8)], trains=False)


def stft() -> Case:
    def power(x: torch.Tensor) -> torch.Tensor:
        window = torch.hann_window(32)
        return torch.stft(x, 32, 8, window=window, return_complex=True).abs().square()

    return Case(power, [(torch.randn(b, n),) for b, n in ((2, 100), (1, 64), (3, 200))])


PROGRAMS = {
    make.__name__: make
    for make in (
        transformer, lstm, gru_cell, attention, conv_net, embedding_bag, masked_mean,
        pad_and_unfold, ctc_loss, newton, stft,
    )
}  # fmt: skip
