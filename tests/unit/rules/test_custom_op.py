"""Custom ops whose fake kernels return an operand, which is not what the op returns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape import export
from anyshape.events import TraceStart, subscribe

LIBRARY = torch.library.Library("anyshape_fakes", "DEF")
LIBRARY.define("meta_kernel(Tensor x) -> Tensor")
LIBRARY.impl("meta_kernel", lambda x: x * 2, "CPU")
LIBRARY.impl("meta_kernel", lambda x: x, "Meta")
LIBRARY.define("composite(Tensor x) -> Tensor")
LIBRARY.impl("composite", lambda x: x, "CompositeImplicitAutograd")


@torch.library.custom_op("anyshape_fakes::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("anyshape_fakes::both", mutates_args=())
def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x + 1, y + x


twice.register_fake(lambda x: x)
both.register_fake(lambda x, y: (x, y))


def f_twice(x: torch.Tensor) -> Any:
    return twice(x) + torch.ops.anyshape_fakes.twice(x) + torch.ops.anyshape_fakes.twice.default(x)


def f_both(x: torch.Tensor) -> Any:
    a, b = both(x, x)
    a.add_(1)
    return a, b, x


def f_written(x: torch.Tensor) -> Any:
    y = twice(x)
    y.add_(10)
    return y, x + y


def f_meta(x: torch.Tensor) -> Any:
    return torch.ops.anyshape_fakes.meta_kernel(x)


def f_composite(x: torch.Tensor) -> Any:
    return torch.ops.anyshape_fakes.composite(x) + 1


@pytest.mark.parametrize("f", [f_twice, f_both, f_written, f_meta, f_composite])
def test_the_op_is_called(f: Any) -> None:
    compiled = anyshape.compile(f, dynamic=True, fullgraph=True)
    program = export(f, (torch.ones(4),), dynamic_shapes=({0: "n"},))
    for n in (2, 3, 5):
        x = torch.arange(n) + 1.0
        wanted = torch.utils._pytree.tree_leaves(f(x.clone()))
        for found in (compiled(x.clone()), program(x.clone())):
            for a, b in zip(torch.utils._pytree.tree_leaves(found), wanted, strict=True):
                assert torch.equal(a, b)


@torch.library.custom_op("anyshape_fakes::dropping", mutates_args=())
def dropping(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@dropping.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    context = torch.library.get_ctx()
    with context._shape_env.ignore_fresh_unbacked_symbols():
        context.new_dynamic_size()
    return torch.empty_like(x)


def test_a_size_that_a_kernel_drops() -> None:
    compiled = anyshape.compile(lambda x: dropping(x) * 2, dynamic=True, fullgraph=True)
    for n in (2, 3):
        assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 4.0))


@torch.library.custom_op("anyshape_fakes::pair_sums", mutates_args=())
def pair_sums(x: torch.Tensor) -> torch.Tensor:
    return (x[::2] + x[1::2]).contiguous()


@torch.library.custom_op("anyshape_fakes::by_layout", mutates_args=())
def by_layout(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(3) if x.is_contiguous() else x.new_zeros(2)


@pair_sums.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty((x.shape[0] // 2, *x.shape[1:]))


@by_layout.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(3) if x.is_contiguous() else x.new_empty(2)


def test_the_memory_of_a_stand_in_is_no_guard() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return pair_sums(x.repeat_interleave(2, 0).t().contiguous().t()) * 2

    starts: list[Any] = []
    with subscribe(starts.append, TraceStart):
        program = export(f, (torch.ones(3, 2),), dynamic_shapes=({0: "rows"},))
    assert len(starts) == 1
    for n in (0, 1, 2, 5):
        x = torch.arange(2.0 * n).reshape(n, 2)
        assert torch.equal(program(x), f(x))


def test_what_a_kernel_asks_of_a_stand_in_is_a_guard() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return by_layout(x.t()) * 2

    program = export(f, (torch.ones(3, 4),), dynamic_shapes=({0: "a", 1: "b"},))
    for a, b in [(3, 4), (0, 4), (4, 0), (1, 5), (5, 1), (1, 1), (0, 0), (2, 3)]:
        x = torch.ones(a, b)
        assert torch.equal(program(x), f(x)), (a, b)
