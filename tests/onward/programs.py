"""The programs that go through torch's tools, each with calls at several sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from benchmarks.unbind_split_flip_cat import Model as Documents
from tests.differential.models import MODELS, built, mixtral

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = ((3, 7), (1, 5), (2, 2), (5, 3), (1, 1))


class Program(NamedTuple):
    """A module, calls of it, the first of which is the example, and the specs of their sizes."""

    module: nn.Module
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    dynamic: Any

    def eager(self, call: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        """What eager execution gives."""
        return self.module(*call[0], **call[1])


def transformer(name: str) -> Program:
    model = built({**MODELS, "Mixtral": mixtral}[name])
    calls = [((), model.inputs(*size)) for size in SIZES]
    names = {0: "batch", 1: "length"}
    dynamic = {k: {d: names[d] for d in model.dynamic} for k in calls[0][1]}
    if name == "T5":
        dynamic["decoder_input_ids"] = {0: "batch", 1: "target"}
    if name == "Whisper":
        dynamic["input_features"] = {0: "batch"}
    return Program(model.module, calls, dynamic)


def sequential() -> Program:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
    return Program(module, [((torch.randn(n, 8),), {}) for n in (3, 1, 0, 2, 7)], ({0: "batch"},))


def documents() -> Program:
    def call(*counts: int) -> tuple[Any, ...]:
        sizes = torch.tensor(counts, dtype=torch.int32)
        return (torch.randn(int(sizes.sum()), 4), [sizes, sizes.flip(0)]), {}

    calls = [call(1, 2, 3), call(0, 1, 0), call(2, 0, 5), call(0, 0, 0), call(1, 1, 1)]
    return Program(Documents(), calls, ({0: "n"}, [{}, {}]))


class Experts(nn.Module):
    """A mixture of experts: every expert gets the rows that chose it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 3)
        self.experts = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, chosen = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero().squeeze(1)
            out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        return out


class Detector(nn.Module):
    """A detection head: boxes above a score, decoded and clamped to the image."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.score = nn.Conv2d(8, 1, 1)
        self.box = nn.Conv2d(8, 4, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.body(x)
        scores = self.score(features).sigmoid().flatten(1)
        boxes = self.box(features).flatten(2).transpose(1, 2)
        keep = scores > 0.5
        return boxes[keep].clamp(0, 1), scores[keep]


def experts() -> Program:
    torch.manual_seed(0)
    calls = [((torch.randn(n, 8),), {}) for n in (5, 1, 2, 3, 7)]
    return Program(Experts().eval(), calls, ({0: "rows"},))


def detector() -> Program:
    torch.manual_seed(0)
    calls = [((torch.randn(n, 3, h, 6),), {}) for n, h in ((2, 8), (1, 5), (3, 4), (1, 1), (2, 3))]
    return Program(Detector().eval(), calls, ({0: "batch", 2: "height"},))


PROGRAMS: dict[str, Callable[[], Program]] = {
    "Sequential": sequential,
    "documents": documents,
    "experts": experts,
    "detector": detector,
    **{name: lambda name=name: transformer(name) for name in (*MODELS, "Mixtral")},  # type: ignore[misc]
}
