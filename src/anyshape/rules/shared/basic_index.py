"""Indices made of numbers, slices, None and `...`: a view, computed in one pass."""

from __future__ import annotations

from typing import Any

from anyshape.errors import DimError
from anyshape.rules.shared.slices import normalize_index, slice_of
from anyshape.tensor.layout import Layout, offset_of, strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import plain


def basic_index(meta: Meta, parts: tuple[Any, ...]) -> Meta:
    """The metadata of `x[parts]`."""
    shape = meta.shape
    rank = len(shape)
    covered = len(parts) - sum(p is None or p is Ellipsis for p in parts)
    if covered > rank:
        raise DimError(f"too many indices for tensor of dimension {rank}")
    sizes: list[Any] = []
    # (source, start, step) for each dimension of the result; (-1, next, 1) for a new one before
    # the dimension `next` of the operand
    plan: list[tuple[int, Any, Any]] = []
    drops: list[tuple[int, Any]] = []  # (dimension, index) for each number
    changed: list[int] = []  # the dimensions that are sliced or dropped
    dim = 0
    for p in parts:
        if p is None:
            sizes.append(1)
            plan.append((-1, dim, 1))
        elif p is Ellipsis:
            for d in range(dim, dim + rank - covered):
                sizes.append(shape[d])
                plan.append((d, 0, 1))
            dim += rank - covered
        elif type(p) is slice:
            n = shape[dim]
            if p.start is None and p.stop is None and p.step is None:
                sizes.append(n)
                plan.append((dim, 0, 1))
            else:
                start, count, step = slice_of(p, n)
                sizes.append(count)
                plan.append((dim, start, step))
                changed.append(dim)
            dim += 1
        else:
            drops.append((dim, normalize_index(p, shape[dim], dim)))
            changed.append(dim)
            dim += 1
    for d in range(dim, rank):
        sizes.append(shape[d])
        plan.append((d, 0, 1))
    return Meta(tuple(sizes), meta.dtype, _layout(meta, plan, drops, changed))


def _layout(meta: Meta, plan: list[Any], drops: list[Any], changed: list[int]) -> Layout:
    layout = meta.layout
    dense = layout.dense and layout.order is None
    if dense and not changed:
        return layout

    def offset() -> Any:
        strides = strides_of(meta)
        total = offset_of(meta)
        for d, start, _ in plan:
            if d >= 0 and not (type(start) is int and start == 0):
                total = total + start * strides[d]
        for d, index in drops:
            total = total + index * strides[d]
        return plain(total)

    if dense and changed == [0] and all(type(step) is int and step == 1 for _, _, step in plan):
        return Layout(offset=offset)

    def find() -> Layout:
        strides = strides_of(meta)
        made: list[Any] = []
        for d, start, step in plan:
            if d >= 0:
                made.append(plain(strides[d] * step))
            elif start < len(strides):
                made.append(plain(meta.shape[start] * strides[start]))
            else:
                made.append(1)
        return Layout(strides=tuple(made))

    return Layout(make=find, offset=offset)
