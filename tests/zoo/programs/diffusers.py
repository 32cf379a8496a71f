"""Networks and schedulers of diffusers."""

from __future__ import annotations

from typing import Any

import diffusers
import torch

from tests.zoo.case import Case

BLOCKS: dict[str, Any] = {
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "norm_num_groups": 4,
}


def unet_2d() -> Case:
    model = diffusers.UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, attention_head_dim=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), **BLOCKS,
    )  # fmt: skip
    sizes = ((2, 16, 16), (1, 24, 16), (3, 8, 32))
    return Case(model, [(torch.randn(b, 3, h, w), torch.tensor(7)) for b, h, w in sizes])


def unet_2d_condition() -> Case:
    model = diffusers.UNet2DConditionModel(
        sample_size=16, in_channels=4, out_channels=4, cross_attention_dim=16,
        attention_head_dim=4, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **BLOCKS,
    )  # fmt: skip
    sizes = ((2, 16, 5), (1, 24, 7), (3, 8, 1))
    calls: list[Any] = [
        (torch.randn(b, 4, n, n), torch.tensor(7), torch.randn(b, s, 16)) for b, n, s in sizes
    ]
    return Case(model, calls)


def autoencoder() -> Case:
    model = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4, **BLOCKS,
    )  # fmt: skip
    return Case(model, [(torch.randn(b, 3, n, n),) for b, n in ((2, 16), (1, 24), (3, 8))])


def vq_model() -> Case:
    model = diffusers.VQModel(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
        num_vq_embeddings=16, latent_channels=3, **BLOCKS,
    )  # fmt: skip
    return Case(model, [(torch.randn(b, 3, n, n),) for b, n in ((2, 16), (1, 24))])


def dit() -> Case:
    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8,
        norm_num_groups=4, num_embeds_ada_norm=10,
    )  # fmt: skip
    calls: list[Any] = [
        {
            "hidden_states": torch.randn(b, 4, 8, 8),
            "timestep": torch.randint(0, 9, (b,)),
            "class_labels": torch.randint(0, 9, (b,)),
        }
        for b in (3, 1, 2)
    ]
    return Case(model, calls)


def flux() -> Case:
    model = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16,
        num_attention_heads=2, joint_attention_dim=16, pooled_projection_dim=16,
        axes_dims_rope=(4, 4, 8),
    )  # fmt: skip
    calls: list[Any] = [
        {
            "hidden_states": torch.randn(b, n, 4),
            "encoder_hidden_states": torch.randn(b, s, 16),
            "pooled_projections": torch.randn(b, 16),
            "timestep": torch.rand(b),
            "img_ids": torch.randn(n, 3),
            "txt_ids": torch.randn(s, 3),
        }
        for b, n, s in ((2, 16, 6), (1, 9, 3), (3, 4, 1))
    ]
    return Case(model, calls)


def unet_1d() -> Case:
    model = diffusers.UNet1DModel(
        sample_size=32, in_channels=2, out_channels=2, extra_in_channels=64,
        block_out_channels=(32, 32), layers_per_block=1,
        down_block_types=("DownBlock1DNoSkip", "DownBlock1D"),
        up_block_types=("UpBlock1D", "UpBlock1DNoSkip"), mid_block_type="UNetMidBlock1D",
    )  # fmt: skip
    return Case(model, [(torch.randn(b, 2, n), torch.tensor(3)) for b, n in ((2, 32), (1, 64))])


def ddim_step() -> Case:
    scheduler = diffusers.DDIMScheduler(num_train_timesteps=20)
    scheduler.set_timesteps(5)

    def step(noise: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        for t in scheduler.timesteps:
            sample = scheduler.step(noise, t, sample).prev_sample
        return sample

    return Case(
        step, [(torch.randn(b, 3, n, n), torch.randn(b, 3, n, n)) for b, n in ((2, 8), (1, 5))]
    )


def euler_step() -> Case:
    def step(noise: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        scheduler = diffusers.EulerDiscreteScheduler(num_train_timesteps=20)
        scheduler.set_timesteps(4)
        for t in scheduler.timesteps:
            scaled = scheduler.scale_model_input(sample, t)
            sample = scheduler.step(noise + scaled, t, sample).prev_sample
        return sample

    return Case(step, [(torch.randn(b, 3, 8, 8), torch.randn(b, 3, 8, 8)) for b in (2, 1, 4)])


PROGRAMS = {
    make.__name__: make
    for make in (
        unet_2d, unet_2d_condition, autoencoder, vq_model, dit, flux, unet_1d, ddim_step,
        euler_step,
    )
}  # fmt: skip
