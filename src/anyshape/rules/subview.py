"""Views of a part of a tensor: slices, one index of a dimension, windows, any strides."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import dim_of, meta_of
from anyshape.tensor.layout import Layout, offset_of, strides_of, viewed
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_size, plain, text


def is_dense(meta: Meta) -> bool:
    """Whether a tensor is contiguous by construction."""
    return meta.layout.dense and meta.layout.order is None


class SubviewOffset:
    """The offset of a subview that starts at index `place` of a dimension; computed lazily."""

    __slots__ = ("dim", "meta", "place")

    def __init__(self, meta: Meta, dim: int, place: Any) -> None:
        self.meta = meta
        self.dim = dim
        self.place = place

    def __call__(self) -> Any:
        """The offset, in elements."""
        meta = self.meta
        return plain(offset_of(meta) + self.place * strides_of(meta)[self.dim])


def sliced(meta: Meta, dim: int, start: Any, size: Any, step: Any = 1) -> Meta:
    """Elements `start, start + step, ...` of one dimension."""
    shape = meta.shape
    dense = type(step) is int and step == 1
    if dense and type(start) is int and start == 0 and size is shape[dim]:
        return Meta(shape, meta.dtype, meta.layout)
    offset = SubviewOffset(meta, dim, start)
    if dense and dim == 0 and is_dense(meta):
        return Meta((size, *shape[1:]), meta.dtype, Layout(offset=offset))
    return Meta(
        (*shape[:dim], size, *shape[dim + 1 :]), meta.dtype, _steps(meta, dim, step, offset)
    )


def _steps(meta: Meta, dim: int, step: Any, offset: SubviewOffset) -> Layout:
    def find() -> Any:
        strides = strides_of(meta)
        return (*strides[:dim], plain(strides[dim] * step), *strides[dim + 1 :])

    return viewed(meta, find, offset)


def selected(meta: Meta, dim: int, index: Any) -> Meta:
    """One index of a dimension, which is dropped; `index` counts from the front."""
    shape = meta.shape
    offset = SubviewOffset(meta, dim, index)
    if dim == 0 and is_dense(meta):
        return Meta(shape[1:], meta.dtype, Layout(offset=offset))
    return Meta((*shape[:dim], *shape[dim + 1 :]), meta.dtype, _without(meta, dim, offset))


def _without(meta: Meta, dim: int, offset: SubviewOffset) -> Layout:
    def find() -> Any:
        strides = strides_of(meta)
        return (*strides[:dim], *strides[dim + 1 :])

    return viewed(meta, find, offset)


@rule("unfold", view=True)
def unfold(x: Any, dimension: int, size: Any, step: Any) -> Any:
    """Overlapping windows of one dimension; their elements come last."""
    meta = meta_of(x)
    rank = len(meta.shape)
    dim = dim_of(dimension, rank)
    n = meta.shape[dim] if rank else 1
    expect(
        n >= size, lambda: f"unfold: windows of {text(size)} do not fit into a size of {text(n)}"
    )
    count = plain((n - size) // step + 1)

    def find() -> Any:
        strides = strides_of(meta) if rank else (1,)
        return (*strides[:dim], plain(strides[dim] * step), *strides[dim + 1 :], strides[dim])

    return (
        Meta(
            (*meta.shape[:dim], count, *meta.shape[dim + 1 :], size), meta.dtype, viewed(meta, find)
        )
        if rank
        else Meta((size,), meta.dtype)
    )


@rule("as_strided", view=True)
def as_strided(x: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """Any strides over the memory of a tensor; the run checks that they stay inside."""
    meta = meta_of(x)
    for n in size:
        expect_size(n, "a size of as_strided")
    if len(size) != len(stride):
        raise ShapeError("as_strided: size and stride have different lengths")
    offset = (lambda: offset_of(meta)) if storage_offset is None else storage_offset
    return Meta(tuple(size), meta.dtype, Layout(strides=tuple(stride), offset=offset))
