"""Models of transformers with adapters of peft."""

from __future__ import annotations

from functools import partial
from typing import Any

import peft
import torch
import transformers

from tests.zoo.case import Case

SIZES = ((3, 6), (1, 9), (2, 1))


def adapted(config: Any) -> Case:
    """A tiny BERT with adapters in its attention."""
    settings = transformers.BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    model = peft.get_peft_model(transformers.BertModel(settings), config)
    calls: list[Any] = [
        {
            "input_ids": torch.randint(1, 99, (b, s)),
            "attention_mask": torch.ones(b, s, dtype=torch.long),
        }
        for b, s in SIZES
    ]
    return Case(model, calls)


TARGETS = ["query", "value"]

PROGRAMS = {
    "lora": partial(adapted, peft.LoraConfig(r=4, target_modules=TARGETS)),
    "dora": partial(adapted, peft.LoraConfig(r=4, target_modules=TARGETS, use_dora=True)),
    "ia3": partial(adapted, peft.IA3Config(target_modules=TARGETS, feedforward_modules=[])),
    "loha": partial(adapted, peft.LoHaConfig(r=4, target_modules=TARGETS)),
}
