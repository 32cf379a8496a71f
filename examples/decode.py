"""Decoding with a cache that grows: the prompt and every further token are the same program."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

VOCABULARY, WIDTH, HEADS, LAYERS = 200, 32, 4, 2

Cache = list[tuple[Tensor, Tensor]]


class Layer(nn.Module):
    """Attention to all tokens so far, and a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The tokens after the layer, and the longer cache."""
        batch, new, _ = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, new, 3, HEADS, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        seen = keys.size(2)
        mask = torch.ones(new, seen, dtype=torch.bool).tril(seen - new)
        mixed = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return x + self.out(mixed.transpose(1, 2).reshape(batch, new, -1)), keys, values


class Decoder(nn.Module):
    """Tokens in, scores of the next token out."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """The scores of the last token, and the longer cache."""
        x, longer = self.embedding(ids), []
        for layer, (keys, values) in zip(self.layers, cache, strict=True):
            x, keys, values = layer(x, keys, values)  # noqa: PLW2901  as decoders are written
            longer.append((keys, values))
        return self.head(x[:, -1]), longer


def empty(batch: int) -> Cache:
    """A cache without tokens."""
    shape = (batch, HEADS, 0, WIDTH // HEADS)
    return [(torch.zeros(shape), torch.zeros(shape)) for _ in range(LAYERS)]


def generate(step: Callable[..., Any], prompt: Tensor, count: int) -> Tensor:
    """The most probable tokens after a prompt."""
    ids, cache, out = prompt, empty(prompt.size(0)), []
    for _ in range(count):
        scores, cache = step(ids, cache)
        ids = scores.argmax(-1, keepdim=True)
        out.append(ids)
    return torch.cat(out, 1)


def main() -> None:
    """Generate with the model, compiled and exported, for prompts of several sizes."""
    torch.manual_seed(0)
    model = Decoder().eval().requires_grad_(False)
    prompts = [torch.randint(0, VOCABULARY, size) for size in ((1, 1), (1, 12), (4, 5))]
    wanted = [generate(model, prompt, 20) for prompt in prompts]

    compiled = anyshape.compile(model, dynamic="unbacked")
    for prompt, tokens in zip(prompts, wanted, strict=True):
        assert torch.equal(generate(compiled, prompt, 20), tokens)
    print(f"compiled: {compiled.stats.calls} steps, {compiled.stats.traces} program")

    past = {0: "batch", 2: "past"}
    start = time.perf_counter()
    program = anyshape.export(
        model,
        (prompts[2], [(torch.zeros(4, HEADS, 3, WIDTH // HEADS),) * 2 for _ in range(LAYERS)]),
        dynamic_shapes=({0: "batch", 1: "new"}, [(past, past)] * LAYERS),
    )
    print(f"exported in {time.perf_counter() - start:.1f} s; it accepts")
    print("\n".join(f"  {line}" for line in str(program.contract()).splitlines()))
    same = [torch.equal(generate(program, p, 20), t) for p, t in zip(prompts, wanted, strict=True)]
    print(f"equal to eager execution: {all(same)}")


if __name__ == "__main__":
    main()
