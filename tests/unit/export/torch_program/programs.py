"""Modules for `torch.export`, each with its spec and a call for every size."""

from __future__ import annotations

import copy
import dataclasses
import functools
import io
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.export import Dim

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


torch.export.register_dataclass(Pair, serialized_type_name="tests.torch_program.Pair")


class Program(NamedTuple):
    """A module, and its arguments at a size; `example` is that of the export."""

    make: Callable[[], nn.Module]
    call: Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]
    shapes: Any
    example: int = 5


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.LayerNorm(8)])

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return x


class Stateful(nn.Module):
    """Buffers of both kinds that change, a constant, a module and a weight in two places."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4, bias=False)
        self.again = self.inner
        self.out = nn.Linear(4, 4)
        self.out.weight = self.inner.weight
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("scale", torch.ones(4), persistent=False)
        self.offset = torch.full((4,), 3.0)

    def forward(self, x):
        self.seen.add_(x.sum(0))
        self.scale.mul_(2)
        return self.out(self.again(self.inner(x))) * self.scale + self.offset, self.seen + 0


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.yes, self.no = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.yes, lambda x: self.no(x).cos(), (x,))


class SizeBranch(nn.Module):
    def forward(self, x):
        return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))


class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x):
        with torch.no_grad():
            y = x * self.weight
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = x @ x.transpose(0, 1)
        return y + x * self.weight, z


class FromData(nn.Module):
    def forward(self, x, count):
        n = count.item()
        torch._check(n >= 0)
        torch._check(n <= x.size(0))
        return x[:n].sum(0), torch.zeros(n + 1), x.nonzero(), x[x > 0]


class Changes(nn.Module):
    def forward(self, x):
        x.add_(1)
        return x * 2


class Nested(nn.Module):
    def forward(self, x, pair, *, extra, factor=2):
        a = pair.a + extra["k"][0]
        return {"sum": x + a, "rest": [Pair(a, pair.b * factor), None, 3, x.size(0)]}


class Variadic(nn.Module):
    def forward(self, x, *args, w):
        return x + args[0] * args[1]["k"] - w


class Twice(nn.Module):
    def forward(self, x, y):
        return x.repeat(2, 1) + y


class Numbers(nn.Module):
    def forward(self, x, n, factor, flag, name):
        return x * n * factor if flag and name == "yes" else x


class Absent(nn.Module):
    def forward(self, x, mask=None):
        return x if mask is None else x * mask, None, (x * 2,)


class Even(nn.Module):
    def forward(self, x):
        torch._check(x.size(0) % 2 == 0)
        return x.reshape(-1, 2)


class Mapped(nn.Module):
    """Functions of `torch.func`, which torch's graph has as calls that begin and end them."""

    def forward(self, x):
        tangent = torch.func.jvp(torch.sin, (x,), (x,))[1]
        return torch.vmap(lambda row: row.sin().sum())(x), tangent


@torch.library.custom_op("anyshape_tests::add_sum", mutates_args=("to",))
def add_sum(x: torch.Tensor, to: torch.Tensor) -> None:
    to.add_(x.sum())


@add_sum.register_fake
def _(x, to):
    return None


class ChangedByOp(nn.Module):
    """An op of the user's that changes a buffer and a part of a tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x):
        y = x.clone()
        torch.ops.anyshape_tests.add_sum(x, self.total)
        torch.ops.anyshape_tests.add_sum(x, y[:, 1])
        return y + self.total[0] + torch.tensor([1.0, 2.0, 3.0, 4.0])


def rows(n: int, *more: int) -> torch.Tensor:
    return torch.randn(n, *(more or (4,)))


def _norm() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())


B = Dim("b")
T = Dim("t")
PROGRAMS = {
    "net": Program(Net, lambda n: ((rows(n),), {}), ({0: B},)),
    "stateful": Program(Stateful, lambda n: ((rows(n),), {}), ({0: B},)),
    "branches": Program(Branches, lambda n: ((rows(n),), {}), ({0: B},)),
    "size branch": Program(SizeBranch, lambda n: ((rows(n),), {}), ({0: B},)),
    "modes": Program(Modes, lambda n: ((rows(n),), {}), ({0: B},)),
    "from data": Program(FromData, lambda n: ((rows(n), torch.tensor(n // 2)), {}), ({0: B}, None)),
    "changes": Program(Changes, lambda n: ((rows(n),), {}), ({0: B},)),
    "nested": Program(
        Nested,
        lambda n: (
            (rows(n), Pair(rows(n), rows(n, 2))),
            {"factor": 3, "extra": {"k": [rows(n)]}},
        ),
        {"x": {0: B}, "pair": [{0: B}, {0: B}], "extra": {"k": [{0: B}]}, "factor": None},
    ),
    "variadic": Program(
        Variadic,
        lambda n: ((rows(n), rows(n), {"k": rows(n)}), {"w": rows(n)}),
        {"x": {0: B}, "args": ({0: B}, {"k": {0: B}}), "w": {0: B}},
    ),
    "twice": Program(Twice, lambda n: ((rows(n), rows(2 * n)), {}), ({0: B}, {0: 2 * B})),
    "numbers": Program(
        Numbers,
        lambda n: ((rows(n), n, 2.5, True, "yes"), {}),
        ({0: B}, Dim.DYNAMIC, None, None, None),
    ),
    "absent": Program(Absent, lambda n: ((rows(n), None), {}), ({0: B}, None)),
    "encoder": Program(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(),
        lambda n: ((rows(n, n + 2, 8),), {}),
        ({0: B, 1: T},),
    ),
    "norm": Program(_norm, lambda n: ((rows(n, 3, 6, 6),), {}), ({0: Dim("b", min=2)},)),
    "mapped": Program(Mapped, lambda n: ((rows(n),), {}), ({0: B},)),
    "changed by op": Program(ChangedByOp, lambda n: ((rows(n),), {}), ({0: B},)),
    "even": Program(Even, lambda n: ((rows(n),), {}), ({0: Dim.AUTO},), example=6),
}


@functools.cache
def made(name: str, *, strict: bool = False) -> tuple[nn.Module, torch.export.ExportedProgram]:
    """A module, and what torch makes of one like it."""
    torch.manual_seed(0)
    program = PROGRAMS[name]
    module = program.make()
    args, kwargs = program.call(program.example)
    exported = torch.export.export(
        copy.deepcopy(module), args, kwargs, dynamic_shapes=program.shapes, strict=strict
    )
    return module, exported


def decomposed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its pytree
        return program.run_decompositions()


def loaded(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of modules that torch's file format imports
        torch.export.save(program, file)
        file.seek(0)
        return torch.export.load(file)


def without_example(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    again = loaded(program)
    again.example_inputs = None
    return again
