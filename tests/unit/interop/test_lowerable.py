"""Which programs torch's compilers get: writes to shared memory are not for them, reads are."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.errors import BackendError
from anyshape.interop.lowerable import need_lowerable
from anyshape.trace import capture


def repeated(x: Any) -> Any:
    return x.expand(3, x.shape[0])


def added_to_parts(x: Any) -> Any:
    y = x.clone()
    y[1:] += y[:-1]
    return y


def added_twice(x: Any) -> Any:
    y = x.clone()
    torch._foreach_add_([y, y], 1.0)
    return y


def squared_in_place(x: Any) -> Any:
    y = x.clone()
    return y.mul_(y)


def written_beside(x: Any) -> Any:
    y = x.new_zeros(3, x.shape[0])
    y[0] = repeated(x)[1]
    y += repeated(x)
    return y, repeated(x)[0]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: repeated(x)[0] * 2,
        lambda x: repeated(x) + 1,
        lambda x: -repeated(x),
        lambda x: x[None].expand(2, -1)[:, None].contiguous(),
        squared_in_place,
        written_beside,
    ],
)
def test_views_that_repeat_their_memory_are_read(f: Any) -> None:
    need_lowerable(capture(f, (torch.randn(5),), dynamic="unbacked").graph)


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: repeated(x).add_(1), "repeat its memory"),
        (lambda x: repeated(x)[:, 1:].mul_(2), "repeat its memory"),
        (lambda x: torch.add(x[1:], 1, out=x[:-1]), "another operand views"),
        (added_to_parts, "another operand views"),
        (added_twice, "another operand views"),
    ],
)
def test_writes_to_shared_memory_are_refused(f: Any, why: str) -> None:
    with pytest.raises(BackendError, match=why):
        need_lowerable(capture(f, (torch.randn(5),), dynamic="unbacked").graph)


class Base(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, kept: Any) -> Any:
        ctx.kept = kept
        ctx.save_for_backward(kept)
        return x * 2


class Reads(Base):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.kept, None


class Writes(Base):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.kept.mul_(2), None


class Assigns(Base):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.kept[:] = 3
        return g * ctx.kept, None


class Adds(Base):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        kept = ctx.kept
        kept += 1
        return g * kept, None


class Fills(Base):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * torch.add(g, 1, out=ctx.kept), None


class OfItsOwn(Base):
    """It changes what it has made, and nothing that the forward keeps."""

    @staticmethod
    def forward(ctx: Any, x: Any, kept: Any) -> Any:
        ctx.save_for_backward(kept)
        ctx.kept = 1
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.clone().mul_(ctx.saved_tensors[0]), None


@pytest.mark.parametrize("function", [Reads, OfItsOwn, Writes, Assigns, Adds, Fills])
def test_a_backward_that_changes_what_the_context_keeps_is_refused(function: Any) -> None:
    """Compilers save what it keeps, and autograd checks that nobody changes what is saved."""
    x = torch.ones(3, requires_grad=True)
    captured = capture(function.apply, (x, torch.ones(3)))
    if function in (Reads, OfItsOwn):
        need_lowerable(captured.graph)
    else:
        with pytest.raises(BackendError) as e:
            need_lowerable(captured.graph)
        assert "changes one it keeps" in str(e.value)
