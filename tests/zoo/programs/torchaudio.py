"""Models and transforms of torchaudio."""

from __future__ import annotations

from typing import Any

import torch
import torchaudio
from torchaudio import functional, models, transforms

from tests.zoo.case import Case

WAVES = ((2, 800), (1, 1200), (3, 512))


def waves() -> list[Any]:
    return [(torch.randn(b, n),) for b, n in WAVES]


def conformer() -> Case:
    model = models.Conformer(8, 2, 16, 1, 3)
    sizes = ((2, 10), (1, 7), (3, 4))
    calls: list[Any] = [(torch.rand(b, t, 8), torch.full((b,), t)) for b, t in sizes]
    return Case(model, calls)


def emformer() -> Case:
    model = models.Emformer(8, 2, 16, 1, 4, right_context_length=1)
    calls: list[Any] = [
        (torch.rand(b, t, 8), torch.full((b,), t - 1)) for b, t in ((2, 9), (1, 13))
    ]
    return Case(model, calls)


def conv_tasnet() -> Case:
    model = models.ConvTasNet(2, 16, 16, 3, 8, 16, 2, 1)
    return Case(model, [(torch.randn(b, 1, n),) for b, n in ((2, 160), (1, 200), (3, 64))])


def wav2letter() -> Case:
    model = models.Wav2Letter(5, input_type="mfcc", num_features=8)
    return Case(model, [(torch.randn(b, 8, n),) for b, n in ((2, 80), (1, 61))])


def deep_speech() -> Case:
    model = models.DeepSpeech(8, 16, 5)
    return Case(model, [(torch.randn(b, 1, t, 8),) for b, t in ((2, 9), (1, 5), (3, 1))])


def wav2vec2() -> Case:
    model = models.wav2vec2_model(
        extractor_mode="group_norm", extractor_conv_layer_config=[(8, 10, 5), (8, 3, 2)],
        extractor_conv_bias=False, encoder_embed_dim=16, encoder_projection_dropout=0.0,
        encoder_pos_conv_kernel=4, encoder_pos_conv_groups=2, encoder_num_layers=1,
        encoder_num_heads=2, encoder_attention_dropout=0.0, encoder_ff_interm_features=32,
        encoder_ff_interm_dropout=0.0, encoder_dropout=0.0, encoder_layer_norm_first=False,
        encoder_layer_drop=0.0, aux_num_out=None,
    )  # fmt: skip
    return Case(model, waves())


def mel() -> Case:
    return Case(transforms.MelSpectrogram(16000, n_fft=128, n_mels=8), waves())


def mfcc() -> Case:
    settings = {"n_fft": 128, "n_mels": 16}
    return Case(transforms.MFCC(16000, n_mfcc=8, melkwargs=settings), waves())


def resample() -> Case:
    return Case(transforms.Resample(16000, 8000), waves())


def griffin_lim() -> Case:
    model = transforms.GriffinLim(n_fft=64, n_iter=2, rand_init=False)
    return Case(model, [(torch.rand(b, 33, t),) for b, t in ((2, 12), (1, 20))], trains=False)


def masking() -> Case:
    model = torch.nn.Sequential(transforms.FrequencyMasking(3), transforms.TimeMasking(4))
    return Case(model, [(torch.rand(b, 1, 16, t),) for b, t in ((2, 12), (1, 20))])


def biquad() -> Case:
    def filtered(x: torch.Tensor) -> torch.Tensor:
        return functional.lowpass_biquad(x.clamp(-1, 1), 16000, 2000.0)

    return Case(filtered, waves(), trains=False)


def deltas() -> Case:
    def features(x: torch.Tensor) -> torch.Tensor:
        return torchaudio.functional.compute_deltas(functional.amplitude_to_DB(x, 10.0, 1e-5, 0.0))

    return Case(features, [(torch.rand(b, 8, t),) for b, t in ((2, 12), (1, 20), (3, 5))])


PROGRAMS = {
    make.__name__: make
    for make in (
        conformer, emformer, conv_tasnet, wav2letter, deep_speech, wav2vec2, mel, mfcc, resample,
        griffin_lim, masking, biquad, deltas,
    )
}  # fmt: skip
