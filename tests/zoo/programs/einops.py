"""einops in all its forms: functions, layers, `einsum`, `pack` and `unpack`."""

from __future__ import annotations

from typing import Any

import torch
from einops import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
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


SMALL = ((4, 6), (1, 2), (0, 4), (3, 8))


def small(fn: Any) -> Case:
    """A function of matrices, one of them empty, one with a single row."""
    return Case(fn, [(torch.randn(*size),) for size in SMALL])


def shapes() -> Case:
    def forms(x: torch.Tensor) -> Any:
        known = parse_shape(x, "b _")
        flat = rearrange(x, "b d -> (b d)")
        return (
            rearrange(x, "b (h d) -> h b d", h=2),
            rearrange(x, "... (h d) -> ... h d", d=2),
            rearrange(x, "b d -> d 1 b ()"),
            rearrange([x, x * 2], "k b d -> b (k d)"),
            rearrange(flat, "(b d) -> b d", **known),
        )

    return small(forms)


def reductions() -> Case:
    def forms(x: torch.Tensor) -> Any:
        return (
            reduce(x, "b (h d) -> b h", "mean", h=2),
            reduce(x, "b d -> ", "sum"),
            reduce(x, "... d -> ...", "max"),
            reduce(x, "b (d 2) -> b d", "min"),
            reduce(x, "b d -> d 1", "prod"),
            reduce(x, "b d -> b", lambda t, axes: t.sum(axes)),
        )

    return small(forms)


def repeats() -> Case:
    def forms(x: torch.Tensor) -> Any:
        return repeat(x, "b d -> b (r d) k", r=3, k=2), repeat(x, "b d -> b d n", n=x.shape[0])

    return small(forms)


def einsums() -> Case:
    def forms(x: torch.Tensor) -> Any:
        return einsum(x, x, "a d, b d -> a b"), einsum(x, x, "... d, ... d -> ...")

    return small(forms)


def unpacked() -> Case:
    def forms(x: torch.Tensor) -> Any:
        y, packed_shapes = pack([x, x[:, 0], x[:, :, None].expand(-1, -1, 2)], "b *")
        return *unpack(y * 2, packed_shapes, "b *"), *unpack(x, [[2], [-1]], "b *")

    return small(forms)


def layers() -> Case:
    model = nn.Sequential(
        Rearrange("b (h d) -> b h d", d=2),
        EinMix("b h d -> b h (k e)", weight_shape="d k e", bias_shape="k e", d=2, k=3, e=2),
        Reduce("b h k -> b k", "sum"),
    )
    return small(model)


PROGRAMS = {
    make.__name__: make
    for make in (
        attention, patches, pool, packed, mixer,
        shapes, reductions, repeats, einsums, unpacked, layers,
    )
}  # fmt: skip
