"""Programs of the kind that people write, with sizes that come from inputs and from data."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from tests.differential.agree import KINDS, agrees, trace

B, S = 6, 7
SIZES = ((6, 7), (1, 7), (3, 5), (2, 2), (1, 1))


class Program:
    """A program under test: `inputs` for given sizes; `least` sizes that it is traced for."""

    least = (1, 1)
    sizes = SIZES


class Rotary(Program, nn.Module):
    """Attention with rotary positions and a causal mask, all by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return (torch.randn(b, s, 16),)

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        s, d = x.shape[-2:]
        angles = torch.outer(torch.arange(s), 1e4 ** (-torch.arange(0, d, 2) / d))
        cos, sin = angles.cos(), angles.sin()
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, 2, d // 2).permute(2, 0, 3, 1, 4)
        scores = self.rotate(q) @ self.rotate(k).transpose(-1, -2) / math.sqrt(d // 2)
        mask = torch.full((s, s), float("-inf")).triu(1)
        y = (scores + mask).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(b, s, d))


class Experts(Program, nn.Module):
    """Each token goes to its best expert; sizes come from the data."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return (torch.randn(b, s, 8),)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).softmax(-1).topk(2, -1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, place = torch.where(chosen == i)
            out.index_add_(0, token, expert(flat[token]) * weights[token, place, None])
        return out.view_as(x)


class GraphNet(Program, nn.Module):
    """Messages along edges: gather, transform, scatter."""

    def __init__(self) -> None:
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.GRUCell(8, 8)

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return torch.randn(b, 8), torch.randint(0, b, (2, s))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        message = self.message(torch.cat([x[source], x[target]], -1)).relu()
        degree = torch.zeros(x.shape[0]).index_add(0, target, torch.ones(edges.shape[1]))
        total = torch.zeros_like(x).index_add(0, target, message)
        return self.update(total / degree.clamp(min=1)[:, None], x)


class UNet(Program, nn.Module):
    """Down, up and a shortcut that is cropped to fit."""

    least = (4, 4)
    sizes = ((6, 7), (8, 12), (5, 4), (16, 9))

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.out = nn.Conv2d(5, 1, 1)

    def inputs(self, h: int, w: int) -> tuple[Any, ...]:
        return (torch.randn(2, 1, h, w),)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.up(self.down(x).relu())[..., : x.shape[-2], : x.shape[-1]]
        return self.out(torch.cat([x, y], 1))


class Pooling(Program, nn.Module):
    """The mean over the places that a mask keeps, and the last of them."""

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        lengths = torch.randint(1, s + 1, (b,))
        return torch.randn(b, s, 4), lengths

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> Any:
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        mean = (x * mask[..., None]).sum(1) / lengths[:, None]
        last = x[torch.arange(x.shape[0]), lengths - 1]
        packed = x[mask]
        return mean, last, packed, packed.shape[0]


class Boxes(Program, nn.Module):
    """Boxes above a threshold, best first, and how much they overlap."""

    def inputs(self, b: int, _: int) -> tuple[Any, ...]:
        low = torch.rand(b, 2)
        return torch.cat([low, low + torch.rand(b, 2)], 1), torch.rand(b)

    def forward(self, boxes: torch.Tensor, scores: torch.Tensor) -> Any:
        kept = scores > 0.3
        boxes, scores = boxes[kept], scores[kept]
        scores, order = scores.sort(descending=True)
        boxes = boxes[order]
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        low = torch.max(boxes[:, None, :2], boxes[None, :, :2])
        high = torch.min(boxes[:, None, 2:], boxes[None, :, 2:])
        common = (high - low).clamp(min=0).prod(-1)
        return common / (area[:, None] + area - common), boxes, scores


class Windows(Program, nn.Module):
    """A signal in windows that overlap, each normalized, and put together again."""

    least = (1, 4)
    sizes = ((6, 7), (1, 8), (3, 4), (2, 16))

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return (torch.randn(b, s),)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (0, -x.shape[1] % 2 + 2))
        frames = padded.unfold(1, 4, 2)
        frames = (frames - frames.mean(-1, keepdim=True)) * torch.hann_window(4)
        b, n, _ = frames.shape
        y = F.fold(frames.transpose(1, 2), (1, 2 * n + 2), (1, 4), stride=(1, 2))
        return y.reshape(b, -1)[:, : x.shape[1]]


class Decoder(Program, nn.Module):
    """A fixed number of steps of greedy decoding with a growing cache."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(10, 8), nn.Linear(8, 10)

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return (torch.randint(0, 10, (b, s)),)

    def forward(self, tokens: torch.Tensor) -> Any:
        cache = self.embed(tokens)
        for _ in range(3):
            query = cache[:, -1:]
            weights = (query @ cache.mT).softmax(-1)
            following = self.out(weights @ cache).argmax(-1)
            tokens = torch.cat([tokens, following], 1)
            cache = torch.cat([cache, self.embed(following)], 1)
        return tokens, cache


class Contrast(Program, nn.Module):
    """The contrastive loss of a batch with itself."""

    least = (2, 1)
    sizes = ((6, 7), (2, 3), (9, 1))

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return torch.randn(b, s), torch.randn(b, s)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        x, y = F.normalize(x, dim=-1), F.normalize(y, dim=-1)
        logits = x @ y.t() / 0.1
        target = torch.arange(x.shape[0])
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        return loss, (logits.argmax(1) == target).float().mean()


class Quantizer(Program, nn.Module):
    """The nearest entries of a codebook, which moves while training."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("book", torch.randn(8, 4))
        self.register_buffer("used", torch.zeros(8))

    def inputs(self, b: int, s: int) -> tuple[Any, ...]:
        return (torch.randn(b, s, 4),)

    def forward(self, x: torch.Tensor) -> Any:
        flat = x.reshape(-1, 4)
        places = torch.cdist(flat, self.book).argmin(1)
        one_hot = F.one_hot(places, 8).float()
        self.used.mul_(0.9).add_(one_hot.sum(0), alpha=0.1)
        self.book.lerp_(one_hot.t() @ flat / one_hot.sum(0).clamp(min=1)[:, None], 0.1)
        found = self.book[places].view_as(x)
        return x + (found - x).detach(), places.view(x.shape[:-1])


class Jagged(Program, nn.Module):
    """Rows of different lengths, put one after another and split again by items."""

    def inputs(self, b: int, _: int) -> tuple[Any, ...]:
        return torch.randn(12, 3), torch.tensor([2, 4, 6]), torch.randn(b, 3)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, other: torch.Tensor) -> Any:
        a, b, c = lengths.tolist()
        parts = torch.split(x, [a, b, c])
        means = torch.stack([part.mean(0) for part in parts])
        row = torch.repeat_interleave(torch.arange(3), lengths)
        return means, x - means[row], other @ means.t()


PROGRAMS = (
    Rotary, Experts, GraphNet, UNet, Pooling, Boxes, Windows, Decoder, Contrast, Quantizer, Jagged,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", PROGRAMS)
def test_program(make: Any, kind: str) -> None:
    torch.manual_seed(0)
    module = make()
    where = {n: {"min": m} for n, m in zip((B, S), module.least, strict=True)}
    captured = trace(module, module.inputs(B, S), kind=kind, where=where)
    for sizes in module.sizes:
        agrees(captured, module, module.inputs(*sizes))
