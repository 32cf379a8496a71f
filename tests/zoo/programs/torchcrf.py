"""A conditional random field: likelihood and decoding."""

from __future__ import annotations

from typing import Any

import torch
from torchcrf import CRF

from tests.zoo.case import Case

SIZES = ((2, 6), (1, 4), (3, 1))


def mask(b: int, s: int) -> torch.Tensor:
    lengths = torch.arange(b) % s + 1
    return torch.arange(s)[None] < lengths[:, None]


def likelihood() -> Case:
    model = CRF(4, batch_first=True)
    calls: list[Any] = [
        (torch.randn(b, s, 4), torch.randint(0, 4, (b, s)), mask(b, s)) for b, s in SIZES
    ]
    return Case(model, calls)


def decode() -> Case:
    class Decoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.crf = CRF(4, batch_first=True)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> Any:
            return self.crf.decode(x, mask)

    return Case(Decoder(), [(torch.randn(b, s, 4), mask(b, s)) for b, s in SIZES], trains=False)


PROGRAMS = {make.__name__: make for make in (likelihood, decode)}
