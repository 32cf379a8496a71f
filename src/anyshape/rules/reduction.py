"""Reductions and cumulative ops. The run decides whether one of no elements is an error."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.result import Many
from anyshape.rules.dispatch.return_type import named
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import elementwise, like
from anyshape.rules.shared.index_bound import bounded
from anyshape.rules.shared.operand import dim_of, dims_of, is_tensor, meta_of, shape_of
from anyshape.rules.shared.promote import floating, real_of, result_dtype, summed
from anyshape.rules.subview import sliced
from anyshape.tensor.layout import pointwise
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import larger, plain, total


def reduced(shape: tuple[Any, ...], dim: Any, keepdim: bool = False) -> tuple[Any, ...]:
    """The shape without the given dimensions; None and () mean all."""
    if dim is None or (isinstance(dim, tuple | list) and not dim):
        return (1,) * len(shape) if keepdim else ()
    dims = dims_of(dim, len(shape)) if shape else ()
    if keepdim:
        return tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in dims])


@rule("sum", "nansum", "prod")
def sum_(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A sum or product; integers become int64."""
    meta = meta_of(x)
    if isinstance(dim, torch.dtype):
        dim, dtype = None, dim
    return Meta(reduced(meta.shape, dim, keepdim), dtype or summed(meta.dtype))


@rule("mean", "nanmean")
def mean(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """An average, of floating elements."""
    meta = meta_of(x)
    found = dtype or meta.dtype
    if not (found.is_floating_point or found.is_complex):
        raise ShapeError(f"mean(): could not infer output dtype. Got: {found}")
    return Meta(reduced(meta.shape, dim, keepdim), found)


@rule("amax", "amin")
def amax(x: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The extremum over some dimensions."""
    meta = meta_of(x)
    return Meta(reduced(meta.shape, dim, keepdim), meta.dtype)


@rule("aminmax")
def aminmax(x: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """Both extrema."""
    meta = meta_of(x)
    shape = reduced(meta.shape, dim, keepdim)
    return Many([Meta(shape, meta.dtype), Meta(shape, meta.dtype)], named("aminmax"))


def picked(meta: Meta, dim: int, keepdim: bool, build: Any) -> Many:
    """Elements along a dimension, and their indices."""
    shape = reduced(meta.shape, dim, keepdim)
    indices = bounded(Meta(shape, torch.int64), meta.shape, dim)
    return Many([Meta(shape, meta.dtype), indices], build)


def _pick(name: str) -> Any:
    kind = named(name)

    def pick(x: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if is_tensor(dim) or is_tensor(other):
            other = dim if other is None else other
            return elementwise(result_dtype(x, other), x, other)
        meta = meta_of(x)
        if dim is None:
            return Meta((), meta.dtype)
        return picked(meta, dim_of(dim, len(meta.shape)), keepdim, kind)

    return pick


for _name in ("max", "min", "median", "nanmedian"):
    rule(_name)(_pick(_name))


@rule("mode")
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element."""
    meta = meta_of(x)
    return picked(meta, dim_of(dim, len(meta.shape)), keepdim, named("mode"))


@rule("argmax", "argmin")
def argmax(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The index of the extremum."""
    shape = shape_of(x)
    made = Meta(reduced(shape, dim, keepdim), torch.int64)
    return bounded(made, shape, None if dim is None else dim_of(dim, len(shape)))


@rule("any", "all")
def any_(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether some or all elements hold; uint8 stays uint8."""
    meta = meta_of(x)
    dtype = torch.uint8 if meta.dtype is torch.uint8 else torch.bool
    if isinstance(dim, tuple | list) and not dim:  # no dimensions, unlike for sums
        return Meta(meta.shape, dtype)
    return Meta(reduced(meta.shape, dim, keepdim), dtype)


@rule("count_nonzero")
def count_nonzero(x: Any, dim: Any = None) -> Any:
    """How many elements are not 0."""
    return Meta(reduced(shape_of(x), dim), torch.int64)


@rule("logsumexp", "special_logsumexp")
def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> Any:
    """The logarithm of a sum of exponentials."""
    meta = meta_of(x)
    return Meta(reduced(meta.shape, dim, keepdim), floating(meta.dtype))


def _variance_dims(dim: Any) -> Any:
    """The dimensions of `var(dim, ...)`; in `var(unbiased)` the first argument is a boolean."""
    return None if isinstance(dim, bool) else dim


@rule("var", "std")
def var(
    x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Variance or standard deviation: real for complex operands."""
    meta = meta_of(x)
    return Meta(reduced(meta.shape, _variance_dims(dim), keepdim), real_of(meta.dtype))


@rule("var_mean", "std_mean")
def var_mean(
    x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Any:
    """Variance or standard deviation with the mean."""
    meta = meta_of(x)
    shape = reduced(meta.shape, _variance_dims(dim), keepdim)
    return Many([Meta(shape, real_of(meta.dtype)), Meta(shape, meta.dtype)])


# ---------------------------------------------------------------------- norms


@rule("norm")
def norm(x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """A norm of all elements or over some dimensions."""
    meta = meta_of(x)
    return Meta(reduced(meta.shape, dim, keepdim), real_of(dtype or meta.dtype))


@rule("linalg_vector_norm")
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """A norm of vectors."""
    return norm(x, ord, dim, keepdim, dtype)


@rule("dist")
def dist(x: Any, other: Any, p: Any = 2) -> Any:
    """The norm of a difference."""
    both = elementwise(result_dtype(x, other), x, other)
    return Meta((), real_of(both.dtype))


# ---------------------------------------------------------------------- along a dimension


@rule("cumsum", "cumprod")
def cumsum(x: Any, dim: Any, *, dtype: Any = None) -> Any:
    """Partial sums or products."""
    meta = meta_of(x)
    dim_of(dim, len(meta.shape))
    return Meta(meta.shape, dtype or summed(meta.dtype))


@rule("logcumsumexp")
def logcumsumexp(x: Any, dim: Any) -> Any:
    """Logarithms of partial sums of exponentials."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype)


def _cumulative(name: str) -> Any:
    kind = named(name)

    def extremum(x: Any, dim: Any) -> Any:
        meta = meta_of(x)
        dim_of(dim, len(meta.shape))
        return Many([Meta(meta.shape, meta.dtype), Meta(meta.shape, torch.int64)], kind)

    return extremum


for _name in ("cummax", "cummin"):
    rule(_name)(_cumulative(_name))


@rule("softmax", "log_softmax", "special_softmax", "special_log_softmax")
def softmax(x: Any, dim: Any, dtype: Any = None) -> Any:
    """A distribution along a dimension."""
    meta = meta_of(x)
    dim_of(dim, len(meta.shape))
    return Meta(meta.shape, dtype or meta.dtype)


@rule("F.softmax", "F.log_softmax")
def functional_softmax(x: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The function of `torch.nn.functional`."""
    return NotImplemented if dim is None else softmax(x, dim, dtype)


@rule("diff")
def diff(x: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The `n`-th differences of neighbours."""
    meta = meta_of(x)
    dim = dim_of(dim, len(meta.shape))
    if n == 0:
        return like(x)
    parts = [y for y in (prepend, x, append) if y is not None]
    dtype = result_dtype(*parts)
    if len(parts) > 1:
        size = plain(total([shape_of(y)[dim] for y in parts]))
        meta = Meta((*meta.shape[:dim], size, *meta.shape[dim + 1 :]), dtype)
    rest = sliced(meta, dim, 0, larger(plain(meta.shape[dim] - n), 0))
    return Meta(rest.shape, dtype, pointwise(rest.shape, [rest]))


@rule("renorm")
def renorm(x: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Slices with their norm limited."""
    return Meta(meta_of(x).shape, meta_of(x).dtype)
