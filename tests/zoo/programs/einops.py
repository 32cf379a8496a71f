"""einops in all its forms: functions, layers, `einsum`, `pack` and `unpack`."""

from __future__ import annotations

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

from tests.zoo.case import Case


def attention() -> Case:
    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(16, 48)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = rearrange(self.qkv(x), "b n (k h d) -> k b h n d", k=3, h=4)
            scores = einsum(q, k, "b h i d, b h j d -> b h i j").softmax(-1)
            return rearrange(scores @ v, "b h n d -> b n (h d)")

    return Case(Attention(), [(torch.randn(b, n, 16),) for b, n in ((2, 5), (1, 7), (3, 1))])


def patches() -> Case:
    model = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        nn.Linear(48, 8),
        Reduce("b n c -> b c", "mean"),
    )
    sizes = ((2, 8, 12), (1, 16, 4), (3, 4, 4))
    return Case(model, [(torch.randn(b, 3, h, w),) for b, h, w in sizes])


def pool() -> Case:
    def both(x: torch.Tensor) -> torch.Tensor:
        low = reduce(x, "b c (h 2) (w 2) -> b c h w", "max")
        return repeat(low, "b c h w -> b c (h 2) (w 2)") + x

    sizes = ((2, 8, 12), (1, 16, 4), (3, 2, 2))
    return Case(both, [(torch.randn(b, 3, h, w),) for b, h, w in sizes])


def packed() -> Case:
    def mix(tokens: torch.Tensor, image: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, shapes = pack([tokens, image], "b * c")
        first, second = unpack(x.cumsum(1), shapes, "b * c")
        return first, second

    sizes = ((2, 3, 4, 5), (1, 1, 2, 2), (3, 7, 1, 1))
    return Case(mix, [(torch.randn(b, n, 8), torch.randn(b, h, w, 8)) for b, n, h, w in sizes])


def mixer() -> Case:
    model = EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=8, d=4)
    return Case(model, [(torch.randn(b, t, 8),) for b, t in ((2, 5), (1, 1), (4, 9))])


PROGRAMS = {make.__name__: make for make in (attention, patches, pool, packed, mixer)}
