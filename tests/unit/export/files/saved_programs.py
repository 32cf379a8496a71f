"""Programs that are saved and loaded in tests: what they do, an example, and other inputs."""

from __future__ import annotations

import contextlib
import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from anyshape.export import Dim, export

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    fn: Callable[..., Any]
    inputs: Callable[[int], tuple[Any, ...]]
    dynamic: Any

    def export(self) -> Any:
        torch.manual_seed(0)
        return export(self.fn, self.inputs(4), dynamic_shapes=self.dynamic)


class Pair(NamedTuple):
    first: Any
    second: Any


class Mode(enum.Enum):
    FAST = 1


@dataclass
class Point:
    x: Any
    label: str = "here"


class Held:
    """A class of containers that pytree knows."""

    def __init__(self, parts: dict[str, Any], limit: float) -> None:
        self.parts, self.limit = parts, limit


pytree.register_pytree_node(
    Held,
    lambda h: (list(h.parts.values()), [list(h.parts), h.limit]),
    lambda xs, context: Held(dict(zip(context[0], xs, strict=True)), context[1]),
)


class Tied(nn.Module):
    """One weight used twice, a view of it, an expanded and a transposed constant, a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("base", torch.arange(12.0))
        self.register_buffer("even", self.base[::2])
        self.wide = torch.ones(1, 4).expand(7, 4)
        self.turned = torch.arange(28.0).view(4, 7).t()
        self.spectrum = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex128)

    def forward(self, x: torch.Tensor) -> Any:
        self.seen.add_(1)
        self.base.mul_(1.0)
        logits = self.head(self.embed(x))
        return logits @ (self.wide + self.turned), self.even.sum(), self.spectrum.abs(), self.seen


def branch(x: torch.Tensor) -> Any:
    if x.shape[0] == 0:
        raise ValueError("nothing to do")
    return x * 2 if x.shape[0] > 5 else x - 1


def split(x: torch.Tensor, sizes: torch.Tensor) -> Any:
    counts = sizes.tolist()
    for n in counts:
        torch._check(n >= 0, lambda: "a size below zero")
    return torch.cat([part.flip(0) for part in torch.split(x, counts)]), x[x > 0].sum()


def scatter(x: torch.Tensor) -> Any:
    y = x.clone()
    y[1:, ..., None] += 1.0
    y[:, :1] = float("nan")
    x.add_(math.inf, alpha=0.0 if x.dtype.is_floating_point else 1)
    return torch.nan_to_num(y, nan=-1.0, posinf=math.inf), x


def nested(inputs: dict[str, Any], pair: Pair) -> Any:
    x = inputs["x"]
    return {
        "pair": Pair(x.sum(0), [pair.first, None]),
        "shape": x.shape,
        "max": x.max(dim=1),
        "rows": x.shape[0] * 3 + 1,
        "half": x.shape[0] / 2,
        "more": x.shape[0] > 3,
        "same": "text",
    }


def classes(held: Held, point: Point, mode: Mode) -> Any:
    x = held.parts["x"] * (2 if mode is Mode.FAST else 3)
    return Held({"y": x, "n": x.shape[0]}, 0.5), [Point(point.x + 1)]


def precise(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
    with torch.no_grad():
        z = (x @ w).softmax(-1)
    return y, z, torch.linspace(0, 1, x.shape[0] + 2, dtype=torch.float64)


def sizes(x: torch.Tensor, y: torch.Tensor) -> Any:
    n, m = x.shape
    z = x.reshape(-1)[: max(n, m) - min(n, m // 2) + n % 3]
    return z, x.view(n * m), y.unflatten(0, (2, n)).sum(), torch.full((n // 2 + 1,), n * m)


def pictures(x: torch.Tensor) -> Any:
    y = x.to(memory_format=torch.channels_last)
    y = nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear")
    return nn.functional.avg_pool2d(y, 2), x.is_contiguous(), x.stride(0)


def numbers(x: torch.Tensor, k: int, scale: float) -> Any:
    return torch.einsum("ij,kj->ik", x, x)[:k] * scale


@contextlib.contextmanager
def _seed() -> Any:
    yield torch.manual_seed(3)


def noise(x: torch.Tensor) -> Any:
    with _seed():
        return x + torch.rand_like(x), torch.where(x > 0)[0]


def _rows(n: int) -> tuple[Any, ...]:
    return (torch.randn(n, 3),)


N = Dim("n")
CASES: dict[str, Case] = {
    "sequential": Case(
        nn.Sequential(nn.Linear(3, 5), nn.LayerNorm(5), nn.GELU(), nn.Linear(5, 2)),
        _rows,
        ({0: N},),
    ),
    "tied": Case(Tied().eval(), lambda n: (torch.arange(n) % 7,), ({0: N},)),
    "attention": Case(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        lambda n: (torch.randn(2, n, 8),),
        ({1: Dim("length", min=1)},),
    ),
    "branch": Case(branch, lambda n: (torch.randn(n),), ({0: N},)),
    "split": Case(
        split,
        lambda n: (torch.randn(2 * n), torch.tensor([n, 0, n])),
        ({0: Dim.UNBACKED}, None),
    ),
    "scatter": Case(scatter, _rows, ({0: N},)),
    "nested": Case(
        nested,
        lambda n: ({"x": torch.randn(n, 2), "k": 3}, Pair(torch.ones(2), "tag")),
        ({"x": {0: N}, "k": None}, (None, None)),
    ),
    "classes": Case(
        classes,
        lambda n: (Held({"x": torch.ones(n)}, math.inf), Point(torch.ones(2)), Mode.FAST),
        ([{0: N}], None, None),
    ),
    "precise": Case(precise, lambda n: (torch.randn(n, 3), torch.randn(3, 3)), ({0: N}, None)),
    "sizes": Case(
        sizes,
        lambda n: (torch.randn(n, n + 1), torch.randn(2 * n)),
        ({0: N, 1: Dim("m")}, {0: 2 * N}),
    ),
    "pictures": Case(pictures, lambda n: (torch.randn(n, 3, 4, 6),), ({0: Dim("batch", min=2)},)),
    "numbers": Case(
        numbers, lambda n: (torch.randn(n, 3), n // 2, n / 3), ({0: N}, Dim.DYNAMIC, Dim.DYNAMIC)
    ),
    "noise": Case(noise, _rows, ({0: N},)),
}
