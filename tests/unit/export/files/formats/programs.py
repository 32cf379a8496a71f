"""Programs that are kept as files of every version of the format, with the code of their time.

`python programs.py FOLDER VERSION`, with a release that writes this version on the path, writes
`NAME.VERSION` for each program that it can hold.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import torch
from torch import nn


class Kept(NamedTuple):
    """A program, the arguments for a size, its spec, the first version that can hold it, and the
    modules whose calls keep their signatures.
    """

    fn: Any
    inputs: Any
    spec: Any
    since: int = 1
    kept: tuple[str, ...] = ()


class Layer(nn.Module):
    """Weights, and a branch on a size with a side that raises."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        with torch.no_grad():
            self.linear.weight.copy_(torch.arange(6.0).view(2, 3))
            self.linear.bias.copy_(torch.tensor([1.0, -1.0]))

    def forward(self, x: torch.Tensor) -> Any:
        if x.shape[0] == 0:
            raise ValueError("nothing to do")
        y = self.linear(x)
        return y.relu() if x.shape[0] > 2 else y


def gathered(x: torch.Tensor, ids: torch.Tensor) -> Any:
    count = ids.max().item()
    torch._check(count <= 6, lambda: "at most six")
    return torch.zeros(count + 1, x.shape[1]), x[x > 0].sum() * x.shape[0]


def nested(batch: dict[str, Any], scale: float = 2.0) -> Any:
    a, (b, n) = batch["a"], batch["rest"]
    return {"sum": a * scale + b.view(-1), "size": [n + a.shape[0], None], "flag": n > 1}


def by_data(x: torch.Tensor) -> Any:
    y = x * 2
    while (y < 20).any():
        y = y + 1
    if y.max() > 50:
        return y[y > 50]
    return y.cumsum(0)


def with_bodies(x: torch.Tensor) -> Any:
    y = torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x - 1, (x,))
    return torch.vmap(lambda row: row.cos() * 2)(y), torch.func.grad(lambda z: (z**3).sum())(x)


def collected(x: torch.Tensor) -> Any:
    rows = [x]
    while x.sum() < 10:
        x = x + 1
        rows.append(x)
    return torch.stack(rows), len(rows)


PROGRAMS = {
    "layer": Kept(Layer(), lambda n: (torch.arange(3.0 * n).view(n, 3) - 4,), ({0: "n"},)),
    "gathered": Kept(
        gathered,
        lambda n: (torch.arange(2.0 * n).view(n, 2) - 2, torch.arange(n + 1)),
        ({0: "n"}, {0: "k"}),
    ),
    "nested": Kept(
        nested,
        lambda n: ({"a": torch.ones(2 * n), "rest": (torch.ones(n, 2), 3)},),
        ({"a": {0: "2*n"}, "rest": ({0: "n"}, None)},),
    ),
    "by_data": Kept(by_data, lambda n: (torch.arange(1.0, n + 1) * 3,), ({0: "n"},), 5),
    "collected": Kept(collected, lambda n: (torch.ones(n + 1, 2),), ({0: "n"},), 7),
    "signed": Kept(
        nn.Sequential(Layer(), nn.Tanh()),
        lambda n: (torch.arange(3.0 * n).view(n, 3) - 4,),
        ({0: "n"},),
        7,
        ("0",),
    ),
    "with_bodies": Kept(with_bodies, lambda n: (torch.ones(n, 2) * (n - 2),), ({0: "n"},), 5),
}


if __name__ == "__main__":
    from anyshape.export import export

    version = int(sys.argv[2])
    for name, kept in PROGRAMS.items():
        if kept.since <= version:
            options = {"preserve_module_call_signature": kept.kept} if kept.kept else {}
            program = export(kept.fn, kept.inputs(4), dynamic_shapes=kept.spec, **options)
            program.save(f"{sys.argv[1]}/{name}.{version}")
