"""Sorting, the largest elements, quantiles, histograms, and search in sorted sequences."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import DimError, ShapeError
from anyshape.rules.dispatch.result import Many
from anyshape.rules.dispatch.return_type import named
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.reduction import picked, reduced
from anyshape.rules.shared.index_bound import bounded
from anyshape.rules.shared.operand import dim_of, is_tensor, meta_of, shape_of
from anyshape.tensor.layout import Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, expect_size, plain, text


@rule("sort")
def sort(x: Any, dim: Any = -1, descending: bool = False, *, stable: Any = None) -> Any:
    """The sorted elements, and their indices before."""
    return Many([like(x), argsort(x, dim)], named("sort"))


@rule("argsort")
def argsort(x: Any, dim: Any = -1, descending: bool = False, *, stable: Any = None) -> Any:
    """The indices that sort the elements."""
    shape = shape_of(x)
    return bounded(like(x, torch.int64), shape, dim_of(dim, len(shape)))


@rule("msort")
def msort(x: Any) -> Any:
    """The elements sorted along the first dimension."""
    return like(x)


@rule("topk")
def topk(x: Any, k: Any, dim: Any = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest or smallest elements, and their indices."""
    meta = meta_of(x)
    k = k.item() if is_tensor(k) else plain(k)
    dim = dim_of(dim, len(meta.shape))
    expect_size(k, "k of topk")
    n = meta.shape[dim] if meta.shape else 1
    expect(k <= n, lambda: f"topk: k is {text(k)}, and the dimension has {text(n)} elements")
    shape = (*meta.shape[:dim], k, *meta.shape[dim + 1 :]) if meta.shape else ()
    indices = bounded(Meta(shape, torch.int64), meta.shape, dim)
    return Many([Meta(shape, meta.dtype), indices], named("topk"))


@rule("kthvalue")
def kthvalue(x: Any, k: Any, dim: Any = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element, and its index; the run checks that there is one."""
    meta = meta_of(x)
    return picked(meta, dim_of(dim, len(meta.shape)), keepdim, named("kthvalue"))


def _indices(x: Any, out_int32: bool) -> Meta:
    dtype = torch.int32 if out_int32 else torch.int64
    return Meta(shape_of(x), dtype) if is_tensor(x) else Meta((), dtype)


@rule("searchsorted")
def searchsorted(
    sorted_sequence: Any, x: Any, *, out_int32: bool = False, right: bool = False,
    side: Any = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """The indices at which elements belong in a sorted sequence."""
    return _indices(x, out_int32)


@rule("bucketize")
def bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The bucket of each element."""
    if len(shape_of(boundaries)) != 1:
        raise DimError("bucketize: boundaries must be 1 dimension")
    return _indices(x, out_int32)


# ---------------------------------------------------------------------- quantiles and histograms


@rule("quantile", "nanquantile")
def quantile(
    x: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Quantiles along a dimension; one slice for each of several."""
    meta = meta_of(x)
    if dim is not None:
        dim = dim_of(dim, len(meta.shape))
    shape = reduced(meta.shape, dim, keepdim)
    counts = shape_of(q) if is_tensor(q) else ()
    if len(counts) > 1:
        raise DimError("quantile() q must be a scalar or 1D tensor")
    if not counts:
        return Meta(shape, meta.dtype)
    order = (*range(1, len(shape) + 1), 0)
    return Meta((*counts, *shape), meta.dtype, Layout(order=order))


@rule("histogram")
def histogram(
    x: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts in bins, and the edges of the bins."""
    dtype = meta_of(x).dtype
    if is_tensor(bins):
        (edges,) = shape_of(bins)
        expect(edges >= 1, lambda: "histogram: expected at least one edge of bins")
        count = plain(edges - 1)
    else:
        count = plain(bins)
        edges = plain(count + 1)
    return Many([Meta((count,), dtype), Meta((edges,), dtype)], named("histogram"))


@rule("histogramdd")
def histogramdd(
    x: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts in bins of several dimensions, and the edges in each."""
    meta = meta_of(x)
    if len(meta.shape) < 2:
        raise DimError("histogramdd: input tensor should have at least 2 dimensions")
    width = meta.shape[-1]
    if not isinstance(bins, tuple | list):
        bins = [bins] * int(width)
    expect_equal(
        len(bins), width, lambda: f"histogramdd: {len(bins)} bins for {text(width)} dimensions"
    )
    edges = [shape_of(b)[0] if is_tensor(b) else plain(b + 1) for b in bins]
    counts = tuple([plain(n - 1) for n in edges])
    if not counts:
        raise ShapeError("histogramdd: no dimensions")
    parts = [Meta(counts, meta.dtype), Many([Meta((n,), meta.dtype) for n in edges])]
    return Many(parts, named("histogramdd"))
