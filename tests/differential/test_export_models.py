"""Models of transformers, exported once: every batch and every length that the model takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

from anyshape import ConstraintError, export

SIZES = ((1, 1), (1, 5), (2, 1), (5, 11), (3, 3))


def small(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    if name == "BERT":
        config = transformers.BertConfig(
            vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, max_position_embeddings=64,
        )  # fmt: skip
        return transformers.BertModel(config).eval()
    config = transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    return transformers.LlamaModel(config).eval()


@pytest.mark.parametrize("name", ["BERT", "Llama"])
def test_one_program_for_all_sizes(name: str) -> None:
    model = small(name)

    def run(ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return model(input_ids=ids, attention_mask=mask)[0]

    def call(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randint(0, 100, (batch, length)), torch.ones(batch, length, dtype=torch.long)

    with torch.no_grad():
        spec = ({0: "batch", 1: "length"}, {0: "batch", 1: "length"})
        program = export(run, call(3, 7), dynamic_shapes=spec)
        report = program.verify(*[call(b, n) for b, n in SIZES])
        assert report.ok, str(report)
        if name == "BERT":
            with pytest.raises(ConstraintError, match="run raises for length = 65"):
                program(*call(2, 65))
