"""Tiny models of transformers, built from configurations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
import transformers

from tests.zoo.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL: dict[str, Any] = {
    "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
SEQ2SEQ: dict[str, Any] = {
    "vocab_size": 99, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "max_position_embeddings": 64,
}  # fmt: skip
VISION: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
    "image_size": 16, "patch_size": 4,
}  # fmt: skip
SIZES = ((3, 6), (1, 9), (2, 1), (4, 12))

Inputs = dict[str, torch.Tensor]


def text(b: int, s: int) -> Inputs:
    return {
        "input_ids": torch.randint(1, 99, (b, s)),
        "attention_mask": torch.ones(b, s, dtype=torch.long),
    }


def both(b: int, s: int) -> Inputs:
    return {**text(b, s), "decoder_input_ids": torch.randint(1, 99, (b, s + 2))}


def image(b: int, _: int) -> Inputs:
    return {"pixel_values": torch.randn(b, 3, 16, 16)}


def large_image(b: int, _: int) -> Inputs:
    return {"pixel_values": torch.randn(b, 3, 64, 64)}


def sound(b: int, s: int) -> Inputs:
    return {"input_values": torch.randn(b, 150 + 10 * s)}


def model(name: str, config: str, settings: dict[str, Any], inputs: Callable[..., Inputs]) -> Case:
    """A model with its calls at several batch sizes and lengths."""
    made = getattr(transformers, f"{config}Config")(**settings)
    trains = inputs is not sound  # it wants gradients of its first features, and of no input
    return Case(getattr(transformers, name)(made), [inputs(b, s) for b, s in SIZES], None, trains)


GROUPED = {**SMALL, "num_key_value_heads": 2}
OLD = {"vocab_size": 99, "n_layer": 2, "n_head": 4, "n_embd": 32, "n_positions": 64}

MODELS: dict[str, tuple[str, dict[str, Any], Callable[..., Inputs]]] = {
    "BertModel": ("Bert", SMALL, text),
    "RobertaForMaskedLM": ("Roberta", {**SMALL, "max_position_embeddings": 66}, text),
    "DebertaV2Model": ("DebertaV2", {**SMALL, "relative_attention": True}, text),
    "ElectraModel": ("Electra", {**SMALL, "embedding_size": 16}, text),
    "ModernBertModel": ("ModernBert", {**SMALL, "local_attention": 8}, text),
    "GPT2LMHeadModel": ("GPT2", OLD, text),
    "LlamaForCausalLM": ("Llama", GROUPED, text),
    "MistralForCausalLM": ("Mistral", {**GROUPED, "sliding_window": 4}, text),
    "Gemma2ForCausalLM": ("Gemma2", {**GROUPED, "head_dim": 8, "sliding_window": 4}, text),
    "Qwen3ForCausalLM": ("Qwen3", {**GROUPED, "head_dim": 8}, text),
    "MixtralForCausalLM": ("Mixtral", {**GROUPED, "num_local_experts": 4}, text),
    "MambaForCausalLM": (
        "Mamba",
        {"vocab_size": 99, "hidden_size": 16, "num_hidden_layers": 2, "state_size": 4},
        text,
    ),
    "T5Model": (
        "T5",
        {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4},
        both,
    ),
    "BartModel": ("Bart", SEQ2SEQ, both),
    "BigBirdModel": ("BigBird", {**SMALL, "attention_type": "original_full"}, text),
    "LongformerModel": ("Longformer", {**SMALL, "attention_window": 4}, text),
    "ViTModel": ("ViT", VISION, image),
    "SwinModel": (
        "Swin",
        {"embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "image_size": 16, "patch_size": 2,
         "window_size": 4},
        image,
    ),
    "CLIPVisionModel": ("CLIPVision", VISION, image),
    "ConvNextModel": (
        "ConvNext", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, large_image,
    ),
    "SegformerModel": (
        "Segformer",
        {"depths": [1, 1], "hidden_sizes": [8, 16], "num_encoder_blocks": 2, "sr_ratios": [2, 1],
         "num_attention_heads": [1, 2], "patch_sizes": [7, 3], "strides": [4, 2],
         "mlp_ratios": [2, 2]},
        large_image,
    ),
    "Wav2Vec2Model": (
        "Wav2Vec2",
        {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
         "intermediate_size": 64, "conv_dim": (8, 8), "conv_stride": (5, 2),
         "conv_kernel": (10, 3), "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 4,
         "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0},
        sound,
    ),
}  # fmt: skip


def generate(name: str, config: str, settings: dict[str, Any], **options: Any) -> Case:
    """Four tokens after a prompt, by a loop over a compiled or eager model."""
    made = getattr(transformers, f"{config}Config")(**settings)
    found = getattr(transformers, name)(made).eval()
    run = partial(found.generate, max_new_tokens=4, do_sample=False, **options)
    calls: list[Any] = [text(b, s) for b, s in SIZES]
    return Case(run, calls, trains=False, exports=False)


LLAMA: dict[str, Any] = {**SMALL, "bos_token_id": 1, "eos_token_id": 2}
T5: dict[str, Any] = {
    "vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4,
    "decoder_start_token_id": 0,
}  # fmt: skip
GENERATE: dict[str, Any] = {
    "generate_greedy": partial(generate, "LlamaForCausalLM", "Llama", LLAMA),
    "generate_beam": partial(generate, "LlamaForCausalLM", "Llama", LLAMA, num_beams=3),
    "generate_static": partial(
        generate, "LlamaForCausalLM", "Llama", LLAMA, cache_implementation="static"
    ),
    "generate_t5": partial(generate, "T5ForConditionalGeneration", "T5", T5),
}

PROGRAMS = GENERATE | {
    name: partial(model, name, config, settings, inputs)
    for name, (config, settings, inputs) in MODELS.items()
}
