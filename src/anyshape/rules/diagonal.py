"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import dim_of, meta_of, shape_of, sizes_of
from anyshape.rules.shared.promote import promote_types, summed
from anyshape.tensor.layout import offset_of, strides_of, viewed
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import larger, plain, product, smaller, text, total


@rule("diagonal", "linalg_diagonal", view=True)
def take_diagonal(x: Any, offset: Any = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A diagonal of two dimensions, as the last dimension."""
    meta = meta_of(x)
    rank = len(meta.shape)
    a, b = dim_of(dim1, rank), dim_of(dim2, rank)
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n, m = meta.shape[a], meta.shape[b]
    if type(offset) is int and offset >= 0:
        size = larger(smaller(n, m - offset), 0)
    else:
        size = larger(smaller(n + offset, m), 0)
    rest = [d for d in range(rank) if d not in (a, b)]

    def find() -> Any:
        strides = strides_of(meta)
        return (*[strides[d] for d in rest], plain(strides[a] + strides[b]))

    def start() -> Any:
        strides = strides_of(meta)
        base = offset_of(meta)
        if type(offset) is int and offset >= 0:
            return plain(base + offset * strides[b])
        return plain(base - offset * strides[a])

    shape = (*[meta.shape[d] for d in rest], plain(size))
    return Meta(shape, meta.dtype, viewed(meta, find, start))


@rule("diag")
def diag(x: Any, diagonal: Any = 0) -> Any:
    """A diagonal of a matrix, or a matrix with a vector on its diagonal."""
    meta = meta_of(x)
    if len(meta.shape) == 1:
        n = plain(meta.shape[0] + abs(diagonal))
        return Meta((n, n), meta.dtype)
    if len(meta.shape) != 2:
        raise ShapeError(f"diag(): expected 1 or 2 dimensions, got {text(meta.shape)}")
    return Meta(take_diagonal(x, diagonal).shape, meta.dtype)


@rule("diagflat")
def diagflat(x: Any, offset: Any = 0) -> Any:
    """A matrix with all elements on its diagonal."""
    n = plain(product(shape_of(x)) + abs(offset))
    return Meta((n, n), meta_of(x).dtype)


@rule("diag_embed")
def diag_embed(x: Any, offset: Any = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last dimension on their diagonals."""
    meta = meta_of(x)
    rank = len(meta.shape) + 1
    a, b = sorted((dim_of(dim1, rank), dim_of(dim2, rank)))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = plain(meta.shape[-1] + abs(offset))
    shape = list(meta.shape[:-1])
    shape.insert(a, n)
    shape.insert(b, n)
    return Meta(tuple(shape), meta.dtype)


@rule("block_diag")
def block_diag(*tensors: Any) -> Any:
    """A block diagonal matrix."""
    given = sizes_of(tensors)
    shapes = [_as_matrix(shape_of(t)) for t in given]
    dtype = meta_of(given[0]).dtype
    for t in given:
        dtype = promote_types(dtype, meta_of(t).dtype)
    rows, columns = zip(*shapes, strict=True)
    return Meta((plain(total(rows)), plain(total(columns))), dtype)


def _as_matrix(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(shape) > 2:
        raise ShapeError(f"block_diag: at most 2 dimensions, got {text(shape)}")
    return (1,) * (2 - len(shape)) + tuple(shape)


@rule("trace")
def trace(x: Any) -> Any:
    """The sum of the diagonal."""
    meta = meta_of(x)
    if len(meta.shape) != 2:
        raise ShapeError("trace: expected a matrix")
    return Meta((), summed(meta.dtype))


@rule("tril", "triu")
def tril(x: Any, diagonal: Any = 0) -> Any:
    """One triangle of a matrix."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype)
