"""`generate()` of transformers with a compiled model: one program for each phase.

The first step takes the prompt and fills the cache, the others take one token and the cache. With
unbacked sizes one program serves all prompts and batches in each of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

import anyshape

SIZES = ((2, 5), (1, 3), (3, 4))


def llama() -> Any:
    config = LlamaConfig(
        vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def t5() -> Any:
    config = T5Config(
        vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        decoder_start_token_id=0, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return T5ForConditionalGeneration(config).eval()


CASES = {
    "greedy": (llama, {}),
    "beam": (llama, {"num_beams": 3}),
    "static": (llama, {"cache_implementation": "static"}),
    "t5": (t5, {}),
}


def calls() -> list[dict[str, torch.Tensor]]:
    ids = [torch.randint(3, 50, size) for size in SIZES]
    return [{"input_ids": x, "attention_mask": torch.ones_like(x)} for x in ids]


@pytest.mark.parametrize("name", CASES)
def test_a_phase_is_one_program(name: str) -> None:
    torch.manual_seed(0)
    make, options = CASES[name]
    model = make()
    generate = partial(model.generate, max_new_tokens=4, do_sample=False, **options)
    given = calls()
    expected = [generate(**call) for call in given]
    model.forward = compiled = anyshape.compile(model.forward, dynamic="unbacked")
    for call, ids in zip(given, expected, strict=True):
        assert torch.equal(generate(**call), ids)
    assert compiled.eager_because is None
    assert compiled.stats.traces <= 2


@pytest.mark.parametrize("name", CASES)
def test_generate_itself_is_compiled(name: str) -> None:
    torch.manual_seed(0)
    make, options = CASES[name]
    model = make()
    compiled = anyshape.compile(model.generate)
    for call in calls():
        expected = model.generate(**call, max_new_tokens=3, do_sample=False, **options)
        found = compiled(**call, max_new_tokens=3, do_sample=False, **options)
        assert torch.equal(found, expected)
    assert compiled.eager_because is None
