"""Speaker and speech models of SpeechBrain."""

from __future__ import annotations

import torch
from speechbrain.lobes.features import Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.lobes.models.Xvector import Xvector
from speechbrain.nnet.attention import ContentBasedAttention

from tests.zoo.case import Case

SIZES = ((2, 30), (1, 45), (3, 21))


def ecapa() -> Case:
    model = ECAPA_TDNN(
        8, channels=[8, 8, 8, 8, 24], attention_channels=8, lin_neurons=6, res2net_scale=2,
        se_channels=8,
    )  # fmt: skip
    return Case(model, [(torch.randn(b, t, 8),) for b, t in SIZES])


def xvector() -> Case:
    model = Xvector(
        in_channels=8, tdnn_blocks=2, tdnn_channels=[8, 8], tdnn_kernel_sizes=[3, 1],
        tdnn_dilations=[1, 1], lin_neurons=6,
    )  # fmt: skip
    return Case(model, [(torch.randn(b, t, 8),) for b, t in SIZES], trains=False)


def fbank() -> Case:
    model = Fbank(n_mels=8, n_fft=400)
    return Case(model, [(torch.randn(b, n),) for b, n in ((2, 1600), (1, 2000))], trains=False)


def attention() -> Case:
    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = ContentBasedAttention(8, 8, 8, 8)

        def forward(
            self, x: torch.Tensor, state: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            self.inner.reset()
            lengths = torch.full((x.shape[0],), x.shape[1])
            context, weights = self.inner(x, lengths, state)
            return context, weights

    return Case(Step(), [(torch.randn(b, t, 8), torch.randn(b, 8)) for b, t in SIZES])


PROGRAMS = {make.__name__: make for make in (ecapa, xvector, fbank, attention)}
