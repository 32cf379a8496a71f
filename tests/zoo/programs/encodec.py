"""The encoder and decoder of EnCodec."""

from __future__ import annotations

import torch
from encodec import modules
from encodec.quantization import ResidualVectorQuantizer

from tests.zoo.case import Case


def encoder() -> Case:
    model = modules.SEANetEncoder(1, 8, 4, 1, ratios=[2, 2], lstm=1)
    return Case(model, [(torch.randn(b, 1, n),) for b, n in ((2, 64), (1, 90), (3, 33))])


def decoder() -> Case:
    model = modules.SEANetDecoder(1, 8, 4, 1, ratios=[2, 2], lstm=1)
    return Case(model, [(torch.randn(b, 8, n),) for b, n in ((2, 16), (1, 21))])


def quantizer() -> Case:
    model = ResidualVectorQuantizer(dimension=8, n_q=2, bins=16)

    class Codes(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quantizer = model

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.quantizer.decode(self.quantizer.encode(x, 50))

    return Case(Codes(), [(torch.randn(b, 8, n),) for b, n in ((2, 16), (1, 21))], trains=False)


PROGRAMS = {make.__name__: make for make in (encoder, decoder, quantizer)}
