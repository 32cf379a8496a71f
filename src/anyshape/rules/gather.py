"""Reading and writing at the indices in a tensor: gather, scatter, index_*, take, put."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import DimError, ShapeError
from anyshape.rules.diagonal import take_diagonal
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import dim_of, meta_of, shape_of
from anyshape.rules.shared.slices import normalize_index, slice_of
from anyshape.tensor.layout import strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect_equal, is_one, plain, product, text

# ---------------------------------------------------------------------- reading


@rule("gather")
def gather(x: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Any:
    """One element for each index."""
    meta, shape = meta_of(x), shape_of(index)
    dim_of(dim, len(meta.shape))
    return Meta(shape, meta.dtype)


@rule("take_along_dim")
def take_along_dim(x: Any, indices: Any, dim: Any = None) -> Any:
    """One element for each index, the other dimensions broadcast."""
    meta, shape = meta_of(x), shape_of(indices)
    if dim is None:
        return Meta((plain(product(shape)),), meta.dtype)
    if len(shape) != len(meta.shape):
        raise ShapeError(
            "take_along_dim: input and indices should have the same number of dimensions"
        )
    dim = dim_of(dim, len(shape))
    rest = broadcast(_without(meta.shape, dim), _without(shape, dim))
    return Meta((*rest[:dim], shape[dim], *rest[dim:]), meta.dtype)


def _without(shape: tuple[Any, ...], dim: int) -> tuple[Any, ...]:
    return (*shape[:dim], *shape[dim + 1 :])


@rule("take")
def take(x: Any, index: Any) -> Any:
    """Elements of the flattened tensor."""
    return Meta(shape_of(index), meta_of(x).dtype)


@rule("index_select")
def index_select(x: Any, dim: Any, index: Any) -> Any:
    """Slices along a dimension, one for each index."""
    meta, places = meta_of(x), shape_of(index)
    if not meta.shape:
        return NotImplemented
    if len(places) > 1:
        raise DimError("index_select(): Index is supposed to be a vector")
    dim = dim_of(dim, len(meta.shape))
    count = places[0] if places else 1
    return Meta((*meta.shape[:dim], count, *meta.shape[dim + 1 :]), meta.dtype)


@rule("nonzero_static")
def nonzero_static(x: Any, *, size: Any, fill_value: Any = -1) -> Any:
    """The indices of the first `size` elements that are not 0, padded if there are fewer."""
    return Meta((plain(size), len(shape_of(x))), torch.int64)


# ---------------------------------------------------------------------- writing


@rule("scatter", "scatter_add", "scatter_reduce")
def scatter(
    x: Any,
    dim: Any,
    index: Any,
    src: Any = None,
    reduce: Any = None,
    *,
    value: Any = None,
    include_self: bool = True,
) -> Any:
    """The tensor with elements written at the indices along a dimension."""
    meta = meta_of(x)
    dim_of(dim, len(meta.shape))
    return Meta(meta.shape, meta.dtype)


@rule("index_add", "index_copy", "index_reduce")
def index_add(
    x: Any,
    dim: Any,
    index: Any,
    source: Any,
    reduce: Any = None,
    *,
    alpha: Any = 1,
    include_self: bool = True,
) -> Any:
    """The tensor with slices along a dimension added to or replaced."""
    meta = meta_of(x)
    dim_of(dim, len(meta.shape))
    return Meta(meta.shape, meta.dtype)


@rule("index_fill")
def index_fill(x: Any, dim: Any, index: Any, value: Any) -> Any:
    """The tensor with slices along a dimension filled."""
    dim_of(dim, len(shape_of(x)))
    return like(x)


@rule("index_put", "put")
def index_put(x: Any, *_: Any, **__: Any) -> Any:
    """The tensor with elements replaced."""
    return like(x)


@rule("masked_scatter")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """The tensor with the elements where the mask holds replaced by those of `source`, in order."""
    meta = meta_of(x)
    return Meta(broadcast(meta.shape, shape_of(mask)), meta.dtype)


# ---------------------------------------------------------------------- writing a part


def _rewritten(x: Any) -> Meta:
    """A copy with the strides of the operand, unless its elements overlap in memory."""
    meta = meta_of(x)
    if meta.layout.dense:
        return Meta(meta.shape, meta.dtype, meta.layout)
    shared = any(
        type(s) is int and s == 0 and not is_one(n)
        for s, n in zip(strides_of(meta), meta.shape, strict=True)
    )
    return like(x) if shared else Meta(meta.shape, meta.dtype, meta.layout)


def _need_source(op: str, shape: tuple[Any, ...], src: Any) -> None:
    given = shape_of(src)
    if len(given) != len(shape):
        raise ShapeError(
            f"{op}: src has shape {text(given)}, and the part it replaces {text(shape)}"
        )
    for n, m in zip(given, shape, strict=True):
        expect_equal(
            n,
            m,
            lambda: f"{op}: src has shape {text(given)}, and the part it replaces {text(shape)}",
        )


@rule("select_scatter")
def select_scatter(x: Any, src: Any, dim: Any, index: Any) -> Any:
    """The tensor with the slice at one index of a dimension replaced."""
    shape = shape_of(x)
    dim = dim_of(dim, len(shape))
    normalize_index(index, shape[dim], dim)
    _need_source("select_scatter", _without(shape, dim), src)
    return _rewritten(x)


@rule("slice_scatter")
def slice_scatter(
    x: Any, src: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    """The tensor with a slice of a dimension replaced."""
    shape = shape_of(x)
    dim = dim_of(dim, len(shape))
    _, count, _ = slice_of(slice(start, end, step), shape[dim])
    _need_source("slice_scatter", (*shape[:dim], count, *shape[dim + 1 :]), src)
    return _rewritten(x)


@rule("diagonal_scatter")
def diagonal_scatter(x: Any, src: Any, offset: Any = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The tensor with a diagonal replaced."""
    _need_source("diagonal_scatter", take_diagonal(x, offset, dim1, dim2).shape, src)
    return _rewritten(x)


@rule("as_strided_scatter")
def as_strided_scatter(x: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """The tensor with a strided part replaced."""
    return _rewritten(x)
