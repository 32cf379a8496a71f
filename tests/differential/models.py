"""Tiny models of transformers, made from their configurations: nothing is downloaded."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.fx import _pytree as fx_pytree
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 99,
}


class Model(NamedTuple):
    """A model, and its keyword arguments for a batch and a sequence of any length."""

    module: torch.nn.Module
    inputs: Callable[[int, int], dict[str, torch.Tensor]]
    dynamic: tuple[int, ...] = (0, 1)  # the dimensions of the inputs that vary


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 99, shape)


def mask(batch: int, length: int) -> torch.Tensor:
    """Every row keeps a different number of its first places."""
    keep = torch.arange(1, batch + 1).clamp(max=length)
    return (torch.arange(length) < (length + 1 - keep)[:, None]).long()


def bert(masked: bool = True) -> Model:
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(**SMALL, max_position_embeddings=64))
    if not masked:
        return Model(model, lambda b, s: {"input_ids": ids(b, s)})
    return Model(model, lambda b, s: {"input_ids": ids(b, s), "attention_mask": mask(b, s)})


def gpt2(masked: bool = False) -> Model:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, use_cache=False
    )
    model = GPT2LMHeadModel(config)
    if not masked:
        return Model(model, lambda b, s: {"input_ids": ids(b, s)})
    return Model(model, lambda b, s: {"input_ids": ids(b, s), "attention_mask": mask(b, s)})


def llama(masked: bool = False, cache: bool = False) -> Model:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        **SMALL, num_key_value_heads=2, max_position_embeddings=64, use_cache=cache
    )
    model = LlamaForCausalLM(config)
    if not masked:
        return Model(model, lambda b, s: {"input_ids": ids(b, s)})
    return Model(model, lambda b, s: {"input_ids": ids(b, s), "attention_mask": mask(b, s)})


def t5() -> Model:
    from transformers import T5Config, T5Model

    config = T5Config(
        d_model=32,
        d_ff=64,
        d_kv=8,
        num_layers=2,
        num_heads=4,
        vocab_size=99,
        use_cache=False,
    )

    def inputs(b: int, s: int) -> dict[str, torch.Tensor]:
        return {"input_ids": ids(b, s), "decoder_input_ids": ids(b, s + 2)}

    return Model(T5Model(config), inputs)


def vit() -> Model:
    from transformers import ViTConfig, ViTModel

    small = {k: v for k, v in SMALL.items() if k != "vocab_size"}
    model = ViTModel(ViTConfig(**small, image_size=16, patch_size=4))
    return Model(model, lambda b, _: {"pixel_values": torch.randn(b, 3, 16, 16)}, (0,))


def whisper() -> Model:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        vocab_size=99,
        max_source_positions=16,
        max_target_positions=64,
        num_mel_bins=8,
        use_cache=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )

    def inputs(b: int, s: int) -> dict[str, torch.Tensor]:
        return {"input_features": torch.randn(b, 8, 32), "decoder_input_ids": ids(b, s)}

    return Model(WhisperModel(config), inputs)


def mixtral() -> Model:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        **SMALL,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=64,
        use_cache=False,
    )
    return Model(MixtralForCausalLM(config), lambda b, s: {"input_ids": ids(b, s)})


MODELS: dict[str, Callable[[], Model]] = {
    "BERT": bert,
    "GPT-2": gpt2,
    "Llama": llama,
    "T5": t5,
    "ViT": vit,
    "Whisper": whisper,
}


def built(make: Callable[[], Model]) -> Model:
    """A model with fixed random weights, for inference."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        model = make()
    model.module.eval().requires_grad_(False)
    return model


@contextmanager
def registered_caches() -> Iterator[None]:
    """Caches of transformers known to pytree, which flattens them without some of their numbers.
    What is registered would stay for the whole process, and other tests.
    """
    from transformers import DynamicCache
    from transformers.integrations.executorch import register_dynamic_cache_export_support

    register_dynamic_cache_export_support()
    try:
        yield
    finally:
        pytree._deregister_pytree_node(DynamicCache)
        fx_pytree._deregister_pytree_flatten_spec(DynamicCache)
