"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import ArgumentError, ShapeError
from anyshape.rules.dispatch.autocast import autocast_dtype
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.broadcast import broadcast, fits
from anyshape.rules.shared.operand import meta_of, shape_of
from anyshape.rules.shared.promote import result_dtype
from anyshape.tensor.layout import pointwise
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, is_one, text


def _same_dtype(op: str, *metas: Meta) -> torch.dtype:
    dtype = metas[0].dtype
    for m in metas[1:]:
        if m.dtype is not dtype:
            raise ShapeError(f"{op}: expected operands of one dtype, got {dtype} and {m.dtype}")
    return dtype


def _need_inner(n: Any, m: Any, op: str, a: Any, b: Any) -> None:
    if n is not m:
        expect_equal(
            n,
            m,
            lambda: f"{op}: shapes {text(a)} and {text(b)} do not fit: {text(n)} is not {text(m)}",
        )


def _need_rank(op: str, shape: tuple[Any, ...], rank: int) -> None:
    if len(shape) != rank:
        raise ShapeError(f"{op}: expected {rank} dimensions, got shape {text(shape)}")


@rule("matmul", "linalg_matmul")
def matmul(x: Any, other: Any) -> Any:
    """A product of vectors, matrices, or batches of matrices."""
    a, b = meta_of(x), meta_of(other)
    left, right = a.shape, b.shape
    dtype = _same_dtype("matmul", a, b)
    if not left or not right:
        raise ShapeError("both arguments to matmul need to be at least 1D")
    if len(right) == 1:
        _need_inner(left[-1], right[0], "matmul", left, right)
        return Meta(left[:-1], dtype)
    _need_inner(left[-1], right[-2], "matmul", left, right)
    if len(left) == 1:
        return Meta((*right[:-2], right[-1]), dtype)
    if len(left) == 2 and len(right) == 2:
        return Meta((left[0], right[1]), dtype)
    return Meta((*broadcast(left[:-2], right[:-2]), left[-2], right[-1]), dtype)


def _need_dtype(op: str, dtype: Any) -> None:
    if dtype is not None and type(dtype) is not torch.dtype:
        raise ArgumentError(f"{op}: out_dtype is {type(dtype).__name__}, not a dtype", code="AS123")


@rule("mm")
def mm(x: Any, mat2: Any, out_dtype: Any = None) -> Any:
    """A product of two matrices."""
    _need_dtype("mm", out_dtype)
    a, b = meta_of(x), meta_of(mat2)
    _need_rank("mm", a.shape, 2)
    _need_rank("mm", b.shape, 2)
    _need_inner(a.shape[1], b.shape[0], "mm", a.shape, b.shape)
    return Meta((a.shape[0], b.shape[1]), out_dtype or _same_dtype("mm", a, b))


@rule("bmm")
def bmm(x: Any, mat2: Any, out_dtype: Any = None) -> Any:
    """Products of two batches of matrices."""
    _need_dtype("bmm", out_dtype)
    a, b = meta_of(x), meta_of(mat2)
    _need_rank("bmm", a.shape, 3)
    _need_rank("bmm", b.shape, 3)
    _need_inner(a.shape[0], b.shape[0], "bmm", a.shape, b.shape)
    _need_inner(a.shape[2], b.shape[1], "bmm", a.shape, b.shape)
    return Meta((a.shape[0], a.shape[1], b.shape[2]), out_dtype or _same_dtype("bmm", a, b))


@rule("mv")
def mv(x: Any, vec: Any) -> Any:
    """A matrix times a vector."""
    a, b = meta_of(x), meta_of(vec)
    _need_rank("mv", a.shape, 2)
    _need_inner(a.shape[1], b.shape[0], "mv", a.shape, b.shape)
    return Meta((a.shape[0],), _same_dtype("mv", a, b))


@rule("dot", "vdot")
def dot(x: Any, tensor: Any = None, *, other: Any = None) -> Any:
    """The inner product of two vectors."""
    tensor = other if tensor is None else tensor
    a, b = meta_of(x), meta_of(tensor)
    _need_rank("dot", a.shape, 1)
    _need_rank("dot", b.shape, 1)
    _need_inner(a.shape[0], b.shape[0], "dot", a.shape, b.shape)
    return Meta((), _same_dtype("dot", a, b))


@rule("outer", "ger")
def outer(x: Any, vec2: Any) -> Any:
    """All products of two vectors."""
    return Meta((shape_of(x)[0], shape_of(vec2)[0]), result_dtype(x, vec2))


@rule("addmm")
def addmm(
    x: Any, mat1: Any, mat2: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """A matrix plus a product."""
    return _added(x, mm(mat1, mat2, out_dtype), "addmm")


@rule("addbmm")
def addbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A matrix plus a sum of products."""
    out = bmm(batch1, batch2)
    return _added(x, Meta(out.shape[1:], out.dtype), "addbmm")


@rule("baddbmm")
def baddbmm(
    x: Any, batch1: Any, batch2: Any, out_dtype: Any = None, *, beta: Any = 1, alpha: Any = 1
) -> Any:
    """A batch of matrices plus a batch of products."""
    return _added(x, bmm(batch1, batch2, out_dtype), "baddbmm")


@rule("addmv")
def addmv(x: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A vector plus a product; eager does not expand `x` if the matrix is empty."""
    out = mv(mat, vec)
    shape = shape_of(x)
    if not shape or is_one(shape[0]):
        for n in shape_of(mat):
            expect(n != 0, lambda: f"addmv: the matrix of shape {text(shape_of(mat))} is empty")
    return _added(x, out, "addmv")


@rule("addr")
def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A matrix plus an outer product."""
    out = outer(vec1, vec2)
    shape = _added(x, out, "addr").shape
    column = Meta((shape[0], 1), out.dtype)
    layout = pointwise(shape, [meta_of(x), column, meta_of(vec2)])
    return Meta(shape, result_dtype(x, vec1, vec2), layout)


def _added(x: Any, out: Meta, op: str) -> Meta:
    fits(broadcast(out.shape, shape_of(x)), out.shape, op)
    return out


@rule("linear")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """A learnt affine map of the last dimension."""
    a, w = meta_of(x), meta_of(weight)
    shape = a.shape
    if not shape:
        raise ShapeError("linear: the input has no dimensions")
    _need_inner(shape[-1], w.shape[-1], "linear", shape, w.shape)
    if bias is not None:
        _same_dtype("linear", a, w, meta_of(bias))
    dtype = _same_dtype("linear", a, w)
    if len(w.shape) == 1:
        return Meta(shape[:-1], dtype)
    return Meta((*shape[:-1], w.shape[0]), dtype)


@rule("bilinear")
def bilinear(x: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """A learnt bilinear map of two last dimensions."""
    a, b, w = shape_of(x), shape_of(input2), shape_of(weight)
    _need_inner(a[-1], w[1], "bilinear", a, w)
    _need_inner(b[-1], w[2], "bilinear", b, w)
    for n, m in zip(a[:-1], b[:-1], strict=True):
        expect_equal(n, m, lambda: f"bilinear: shapes {text(a)} and {text(b)} do not fit")
    return Meta((*a[:-1], w[0]), meta_of(x).dtype)


@rule("linalg_pinv")
def pinv(x: Any, *_: Any, **__: Any) -> Any:
    """The pseudo-inverse, which ends in a product of matrices."""
    out = pinverse(x)
    out.dtype = autocast_dtype(meta_of(x))
    return out


@rule("pinverse")
def pinverse(x: Any, rcond: Any = None) -> Any:
    """The same by its older name, with a policy of its own under autocast."""
    meta = meta_of(x)
    if len(meta.shape) < 2:
        raise ShapeError(f"pinv: expected matrices, got shape {text(meta.shape)}")
    *batch, n, m = meta.shape
    return Meta((*batch, m, n), meta.dtype)
