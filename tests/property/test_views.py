"""Random chains of views: shapes, strides and offsets are those of real tensors, at every size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape.expr import evaluate
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import is_certain, offset_of, strides_of
from anyshape.trace import capture

if TYPE_CHECKING:
    from anyshape.tensor.sym_tensor import SymTensor

SIZES = (3, 4, 5)


def at(dim: int, part: Any) -> tuple[Any, ...]:
    return (*(slice(None),) * dim, part)


def stretched(x: torch.Tensor, dim: int) -> torch.Tensor:
    return x.unsqueeze(dim).expand(*x.shape[:dim], 2, *x.shape[dim:])


# How many dimensions an op adds, and the op on a tensor and two of its dimensions.
ANY: list[tuple[int, Any]] = [
    (0, lambda x, i, j: x.transpose(i, j)),
    (0, lambda x, i, j: x.movedim(i, j)),
    (0, lambda x, i, j: x[at(i, slice(1, None))]),
    (0, lambda x, i, j: x[at(i, slice(None, -1))]),
    (0, lambda x, i, j: x[at(i, slice(None, None, 2))]),
    (0, lambda x, i, j: x.clone()),
    (0, lambda x, i, j: x.contiguous()),
    (0, lambda x, i, j: x + 1),
    (0, lambda x, i, j: x + x.sum(i, keepdim=True)),
]
GROW: list[tuple[int, Any]] = [
    (1, lambda x, i, j: x.unsqueeze(i)),
    (1, lambda x, i, j: x[at(i, None)]),
    (1, lambda x, i, j: stretched(x, i)),
]
SHRINK: list[tuple[int, Any]] = [
    (-1, lambda x, i, j: x.select(i, 0)),
    (-1, lambda x, i, j: x[at(i, -1)]),
    (-1, lambda x, i, j: x.flatten(min(i, x.dim() - 2), min(i, x.dim() - 2) + 1)),
    (-1, lambda x, i, j: x.diagonal(0, i, (i + 1) % x.dim())),
    (0, lambda x, i, j: x.narrow(i, 0, 1)),
]


@st.composite
def chains(draw: Any) -> list[Any]:
    rank, steps = len(SIZES), []
    for _ in range(draw(st.integers(1, 5))):
        ops = ANY + (GROW if rank < 6 else []) + (SHRINK if rank > 1 else [])
        change, op = draw(st.sampled_from(ops))
        i, j = draw(st.integers(0, rank - 1)), draw(st.integers(0, rank - 1))
        steps.append(partial(_apply, op, i, j))
        rank += change
    return steps


def _apply(op: Any, i: int, j: int, x: Any) -> Any:
    return op(x, i, j)


def value(n: Any, symbols: dict[str, int]) -> Any:
    return evaluate(n.expr, symbols) if type(n) is SymInt else n


def predicted(steps: list[Any], dynamic: str) -> tuple[SymTensor, Any]:
    kept: list[Any] = []

    def f(x: torch.Tensor) -> Any:
        for op in steps:
            x = op(x)
        kept.append(x)
        strides_of(x._meta)  # as a program would: what it takes is guarded
        offset_of(x._meta)
        return x

    captured = capture(f, (torch.randn(SIZES),), dynamic=dynamic)
    return kept[0], captured


def agrees(steps: list[Any], dynamic: str, sizes: tuple[int, ...]) -> bool:
    t, captured = predicted(steps, dynamic)
    x = torch.randn(sizes)
    want = x
    for op in steps:
        want = op(want)
    symbols = {bind.name: bind.read([x]) for bind in captured.inputs.binds}
    shape = tuple(value(n, symbols) for n in t._meta.shape)
    if not is_certain(t._meta):  # then the run checks what it says
        return shape == tuple(want.shape) and torch.equal(captured(x), want)
    strides = tuple(value(n, symbols) for n in strides_of(t._meta))
    offset = value(offset_of(t._meta), symbols)
    same = [n <= 1 or a == b for n, a, b in zip(shape, strides, want.stride(), strict=False)]
    return (
        shape == tuple(want.shape)
        and (want.numel() == 0 or (all(same) and offset == want.storage_offset()))
        and torch.equal(captured(x), want)
    )


@settings(max_examples=300)
@given(chains(), st.sampled_from([(3, 4, 5), (5, 3, 4), (2, 7, 6)]))
def test_unbacked(steps: list[Any], sizes: tuple[int, ...]) -> None:
    assert agrees(steps, "unbacked", sizes)


@settings(max_examples=300)
@given(chains(), st.sampled_from([(3, 4, 5), (5, 3, 4), (2, 7, 6)]))
def test_backed(steps: list[Any], sizes: tuple[int, ...]) -> None:
    t, captured = predicted(steps, "backed")
    del t
    try:
        captured.contract.need([torch.randn(sizes)])
    except Exception:
        return  # another trace would serve these sizes
    assert agrees(steps, "backed", sizes)


def test_a_planted_bug_is_found(monkeypatch: Any) -> None:
    from anyshape.tensor import layout

    right = layout._permuted

    def wrong(meta: Any, dims: Any) -> Any:
        return right(meta, tuple(reversed(dims)))

    monkeypatch.setattr(layout, "_permuted", wrong)
    assert not agrees([lambda x: x.permute(1, 2, 0)], "unbacked", (3, 4, 5))
