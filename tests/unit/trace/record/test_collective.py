from __future__ import annotations

import pytest
import torch
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore

from anyshape import UnsupportedError, compile, export


@pytest.fixture
def group():
    distributed.init_process_group(backend="fake", world_size=2, rank=0, store=FakeStore())
    yield
    distributed.destroy_process_group()


def reduced(x):
    y = x * 2
    before = y.sum()
    distributed.all_reduce(y)
    return before, y.sum() + 1


def gathered(x):
    parts = [torch.zeros_like(x) for _ in range(2)]
    distributed.all_gather(parts, x)
    return parts


@pytest.mark.parametrize("fn", [reduced, gathered])
def test_a_program_repeats_a_collective(group, fn):
    program = export(fn, (torch.randn(3),), dynamic_shapes=({0: "n"},))
    assert f"all_{'reduce' if fn is reduced else 'gather'}" in program.code
    x = torch.randn(5)
    for got, want in zip(program(x), fn(x), strict=True):
        assert torch.equal(got, want)


def test_a_compiled_function_calls_it(group):
    x = torch.randn(5)
    for got, want in zip(compile(reduced)(x), reduced(x), strict=True):
        assert torch.equal(got, want)


def test_one_that_does_not_wait_is_refused(group):
    def fn(x):
        y = x * 2
        distributed.all_reduce(y, async_op=True).wait()
        return y

    with pytest.raises(UnsupportedError, match="async_op"):
        export(fn, (torch.randn(3),))
