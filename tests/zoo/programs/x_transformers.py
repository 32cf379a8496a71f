"""Transformers of x-transformers."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import x_transformers

from tests.zoo.case import Case


def decoder(**settings: Any) -> Case:
    """A decoder over tokens."""
    model = x_transformers.TransformerWrapper(
        num_tokens=50,
        max_seq_len=32,
        attn_layers=x_transformers.Decoder(dim=32, depth=1, heads=2, attn_dim_head=16, **settings),
    )
    return Case(model, [(torch.randint(0, 50, (b, s)),) for b, s in ((2, 8), (1, 12), (3, 1))])


def continuous() -> Case:
    model = x_transformers.ContinuousTransformerWrapper(
        dim_in=8,
        dim_out=8,
        max_seq_len=32,
        attn_layers=x_transformers.Encoder(dim=32, depth=1, heads=2, attn_dim_head=16),
    )
    return Case(model, [(torch.randn(b, s, 8),) for b, s in ((2, 8), (1, 12), (3, 1))])


PROGRAMS = {
    "decoder": decoder,
    "rotary": partial(decoder, rotary_pos_emb=True),
    "alibi": partial(decoder, alibi_pos_bias=True, alibi_num_heads=2),
    "relative": partial(decoder, rel_pos_bias=True),
    "continuous": continuous,
}
