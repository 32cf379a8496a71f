"""More tiny models of transformers, to see that nothing is made for a few of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from tests.differential.models import SMALL, Model, ids, mask

if TYPE_CHECKING:
    from collections.abc import Callable

    Inputs = Callable[[int, int], dict[str, torch.Tensor]]

GROUPED: dict[str, Any] = {
    **SMALL,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "use_cache": False,
    "pad_token_id": 0,
}
SHORT: dict[str, Any] = {**SMALL, "max_position_embeddings": 66}
DECODER: dict[str, Any] = {**SHORT, "use_cache": False}
OLD: dict[str, Any] = {"vocab_size": 99, "n_layer": 2, "n_head": 4, "use_cache": False}
SEQ2SEQ: dict[str, Any] = {
    "vocab_size": 99,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "use_cache": False,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "image_size": 16,
    "patch_size": 4,
}


def text(b: int, s: int) -> dict[str, torch.Tensor]:
    return {"input_ids": ids(b, s), "attention_mask": mask(b, s)}


def both(b: int, s: int) -> dict[str, torch.Tensor]:
    return {**text(b, s), "decoder_input_ids": ids(b, s + 2)}


def images(n: int) -> Inputs:
    return lambda b, _: {"pixel_values": torch.randn(b, 3, n, n)}


def sounds(b: int, _: int) -> dict[str, torch.Tensor]:
    return {"input_values": torch.randn(b, 200)}


def labelled(b: int, s: int) -> dict[str, torch.Tensor]:
    return {**text(b, s), "labels": torch.randint(0, 5, (b,))}


def following(b: int, s: int) -> dict[str, torch.Tensor]:
    given = text(b, s)
    return {**given, "labels": given["input_ids"].clone()}


# The name of the configuration, of the model, its settings and its inputs.
ZOO: dict[str, tuple[str, dict[str, Any], Inputs]] = {
    "DistilBertModel": (
        "DistilBert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99},
        text,
    ),
    "RobertaModel": ("Roberta", SHORT, text),
    "ElectraModel": ("Electra", {**SHORT, "embedding_size": 16}, text),
    "AlbertModel": ("Albert", {**SHORT, "embedding_size": 16}, text),
    "MPNetModel": ("MPNet", SHORT, text),
    "ModernBertModel": (
        "ModernBert",
        {**SHORT, "pad_token_id": 0, "global_attn_every_n_layers": 2, "local_attention": 8}, text,
    ),
    "BertForSequenceClassification": ("Bert", {**SMALL, "num_labels": 5}, labelled),
    "GPT2LMHeadModel": ("GPT2", {**OLD, "n_embd": 32}, following),
    "OPTForCausalLM": ("OPT", {**DECODER, "ffn_dim": 64, "word_embed_proj_dim": 32}, text),
    "BloomForCausalLM": ("Bloom", {**OLD, "hidden_size": 32}, text),
    "GPTNeoXForCausalLM": ("GPTNeoX", DECODER, text),
    "GPTJForCausalLM": ("GPTJ", {**OLD, "n_embd": 32, "rotary_dim": 4, "n_positions": 64}, text),
    "FalconForCausalLM": ("Falcon", DECODER, text),
    "MistralForCausalLM": ("Mistral", {**GROUPED, "sliding_window": 4}, text),
    "GemmaForCausalLM": ("Gemma", {**GROUPED, "head_dim": 8}, text),
    "Gemma2ForCausalLM": ("Gemma2", {**GROUPED, "head_dim": 8, "sliding_window": 4}, text),
    "Qwen2ForCausalLM": ("Qwen2", GROUPED, text),
    "Qwen3ForCausalLM": ("Qwen3", {**GROUPED, "head_dim": 8}, text),
    "PhiForCausalLM": ("Phi", GROUPED, text),
    "Phi3ForCausalLM": ("Phi3", GROUPED, text),
    "OlmoForCausalLM": ("Olmo", GROUPED, text),
    "CohereForCausalLM": ("Cohere", GROUPED, text),
    "BartModel": ("Bart", SEQ2SEQ, both),
    "PegasusModel": ("Pegasus", SEQ2SEQ, both),
    "DeiTModel": ("DeiT", VISION, images(16)),
    "CLIPVisionModel": ("CLIPVision", VISION, images(16)),
    "Dinov2Model": ("Dinov2", {**VISION, "image_size": 28, "patch_size": 14}, images(28)),
    "ConvNextModel": (
        "ConvNext", {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, images(32),
    ),
    "ResNetModel": (
        "ResNet",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"},
        images(32),
    ),
    "Wav2Vec2Model": (
        "Wav2Vec2",
        {
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 64, "conv_dim": (8, 8), "conv_stride": (5, 2),
            "conv_kernel": (10, 3), "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 4,
            "num_conv_pos_embedding_groups": 2,
        },
        sounds,
    ),
}  # fmt: skip


def build(name: str) -> Model:
    """A model with fixed random weights, for inference."""
    import transformers

    config, settings, inputs = ZOO[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        module = getattr(transformers, name)(getattr(transformers, f"{config}Config")(**settings))
    return Model(module.eval().requires_grad_(False), inputs)
