"""What stands for a number or a dtype in a call: tensors without dimensions, NumPy, enums, classes.

Also ops that give numbers, and torch's functions over symbolic sizes.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pytest
import torch
from torch.fx.experimental import symbolic_shapes
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape


class Place(IntEnum):
    SECOND = 1


@torch.library.custom_op("anyshape_numbers::pair", mutates_args=())
def pair(x: torch.Tensor) -> tuple[int, int]:
    return int(x), int(x) + 1


@pair.register_fake
def _(x):
    context = torch.library.get_ctx()
    return context.new_dynamic_size(), context.new_dynamic_size()


@torch.library.custom_op("anyshape_numbers::one", mutates_args=())
def one(x: torch.Tensor) -> int:
    return int(x)


@one.register_fake
def _(x):
    return torch.library.get_ctx().new_dynamic_size()


@torch.library.custom_op("anyshape_numbers::make", mutates_args=())
def make(x: torch.Tensor, n: int) -> torch.Tensor:
    return torch.ones(x.shape[0], n)


@make.register_fake
def _(x, n):
    return torch.empty((x.shape[0], n))


@torch.library.custom_op("anyshape_numbers::of_numbers", mutates_args=())
def of_numbers(n: int) -> torch.Tensor:
    return torch.ones(n)


@of_numbers.register_fake
def _(n):
    return torch.empty(n)


def narrowed(x, t):
    n = t.item()
    torch.ops.aten._assert_scalar(n > 0, "positive")
    torch.ops.aten.sym_constrain_range_for_size(n, min=0, max=10)
    return torch.zeros(n)


def random_in_place(x, t):
    torch.manual_seed(0)
    return x.clone().random_(**{"from": 0, "to": 3})


def sliced_by_an_op(x, t):
    i, j = torch.ops.anyshape_numbers.pair(t)
    return x[:i, :j]


def asked_by_torch(x, t):
    n = x.shape[0]
    a = 1 if symbolic_shapes.guard_or_true(n != 100) else 2
    b = 1 if symbolic_shapes.statically_known_true(n > 100) else 2
    c = 1 if symbolic_shapes.guard_or_false(n > 100) else 2
    torch._check(symbolic_shapes.sym_and(n > 0, x.shape[1] > 0))
    return x + a + b + c + symbolic_shapes.optimization_hint(5)


PROGRAMS = {
    "zeros": lambda x, t: torch.zeros(t) + 1,
    "zeros of a tuple": lambda x, t: torch.zeros((t, 2)),
    "zeros of two": lambda x, t: torch.zeros(t, t),
    "arange": lambda x, t: torch.arange(t),
    "full with": lambda x, t: torch.full((3,), t),
    "full of": lambda x, t: torch.full((t,), 2.0),
    "expand": lambda x, t: x.sum().expand(t),
    "view": lambda x, t: x.view(t, -1),
    "reshape": lambda x, t: x.reshape(-1, t),
    "repeat": lambda x, t: x.repeat(t, 1),
    "pad": lambda x, t: F.pad(x, (t, 0)),
    "narrow": lambda x, t: x.narrow(0, 0, t),
    "slice": lambda x, t: x[:t],
    "index": lambda x, t: x[t - 1],
    "new_zeros": lambda x, t: x.new_zeros(t, t),
    "repeat_interleave": lambda x, t: x.repeat_interleave(t),
    "numpy sizes": lambda x, t: torch.zeros(np.int64(3), np.int32(2)) + x.sum(),
    "numpy view": lambda x, t: (x.view(np.int64(-1)), x.expand(np.int64(2), *x.shape)),
    "numpy arange": lambda x, t: torch.arange(np.int64(4)) + x.sum(),
    "enum": lambda x, t: x[..., Place.SECOND],
    "classes as dtypes": lambda x, t: (x.to(float), x.to(int), x.sum(dtype=float)),
    "a class as the dtype of a new tensor": lambda x, t: torch.zeros(x.shape[0], dtype=float),
    "size by name": lambda x, t: torch.ones(size=(x.shape[0], 2), device="cpu"),
    "random_": random_in_place,
    "result_type": lambda x, t: torch.zeros(2, dtype=torch.result_type(1.0, 2)) + x.sum(),
    "aten.index": lambda x, t: torch.ops.aten.index.Tensor(x, [x[:, 0] > 0]),
    "aten.index of a later dimension": lambda x, t: torch.ops.aten.index.Tensor(
        x, [None, torch.tensor([0, 1])]
    ),
    "copy_ of a number": lambda x, t: x.clone().copy_(3),
    "broadcast_shapes": lambda x, t: torch.zeros(torch.broadcast_shapes(x.shape, (1, 6))),
    "asserts": narrowed,
    "_local_scalar_dense": lambda x, t: torch.zeros(torch.ops.aten._local_scalar_dense(t)),
    "torch's questions": asked_by_torch,
    "an op that gives numbers": sliced_by_an_op,
    "an op that gives a number": lambda x, t: x.new_zeros(torch.ops.anyshape_numbers.one(t)),
    "a fake that makes a tensor": lambda x, t: torch.ops.anyshape_numbers.make(x, x.shape[0] + 1),
    "an op without tensors": lambda x, t: torch.ops.anyshape_numbers.of_numbers(x.shape[0]),
    "fewer chunks": lambda x, t: [part.sum() for part in x.chunk(3)],
}
CHUNKS = "fewer chunks"


def agree(program, f):
    for n in (4, 2, 1, 7):
        for k in (2, 1):
            x, t = torch.randn(n, 6), torch.tensor(k)
            try:
                want = f(x, t)
            except (RuntimeError, IndexError):
                with pytest.raises((RuntimeError, IndexError)):
                    program(x, t)
                continue
            torch.testing.assert_close(program(x, t), want)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dim", ["n", anyshape.Dim.UNBACKED], ids=["backed", "unbacked"])
def test_exported(name, dim):
    if name == CHUNKS and dim != "n":
        dim = "n"  # how many parts there are only a known size tells
    f = PROGRAMS[name]
    example = (torch.randn(4, 6), torch.tensor(2))
    agree(anyshape.export(f, example, dynamic_shapes=({0: dim}, None)), f)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name):
    f = PROGRAMS[name]
    agree(anyshape.compile(f, dynamic=True, fullgraph=True), f)


def test_new_sizes_are_saved(tmp_path):
    example = (torch.randn(4, 6), torch.tensor(2))
    anyshape.export(sliced_by_an_op, example).save(tmp_path / "program")
    x, t = example
    assert torch.equal(anyshape.load(tmp_path / "program")(x, t), x[:2, :3])


def test_a_slice_of_tensors_is_returned_with_any_backend():
    def f(x):
        start = x.sum().to(torch.int32)
        return x * 2, slice(start, start + 1)

    for backend in ("eager", lambda module, inputs: module):
        compiled = anyshape.compile(f, backend=backend)
        _, found = compiled(torch.ones(3))
        assert (int(found.start), int(found.stop)) == (3, 4)


def test_an_optimization_hint_of_torch_takes_the_fallback_for_each_unknown() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        n: int = x.item()  # type: ignore[assignment]  # it is one
        sizes = torch.ones(n).size(0), torch.ones(n * 2).size(0)
        return torch.ones(n), [symbolic_shapes.optimization_hint(s, 300) for s in sizes]

    compiled = anyshape.compile(f, fullgraph=True)
    for n in (33, 0, 1):
        ones, hints = compiled(torch.tensor(n))
        assert (ones.size(0), hints) == (n, [300, 600])
