"""Embeddings: rows of a table at given indices, or their sums, means or maxima in bags."""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.result import Done, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import is_tensor, meta_of, shape_of
from anyshape.rules.shared.promote import promote_types
from anyshape.tensor.current import current
from anyshape.tensor.layout import strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import equal, expect, expect_equal, plain, text

SUM, MAX = 0, 2  # of the modes; 1 is the mean
_FAST: Final = (torch.float32, torch.float16, torch.bfloat16)


def _need_table(weight: Meta) -> None:
    if len(weight.shape) != 2:
        raise ShapeError(
            f"embedding: the weight must be a matrix, not of shape {text(weight.shape)}"
        )


@rule("embedding")
def embedding(
    weight: Any, indices: Any, padding_idx: Any = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows at the indices."""
    table = meta_of(weight)
    _need_table(table)
    return Meta((*shape_of(indices), table.shape[1]), table.dtype)


@rule("F.embedding")
def functional_embedding(
    x: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: Any = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`; `max_norm`, which renormalizes the table in place, is
    left to its body.
    """
    table = meta_of(weight)
    _need_table(table)
    if padding_idx is not None:
        n = table.shape[0]
        inside = (padding_idx < n) if padding_idx >= 0 else (-padding_idx <= n)
        expect(inside, lambda: f"embedding: padding_idx {padding_idx} of {text(n)} rows")
    if max_norm is not None:
        return NotImplemented
    return Meta((*shape_of(x), table.shape[1]), table.dtype)


@rule("embedding_renorm")
def embedding_renorm(weight: Any, indices: Any, max_norm: Any, norm_type: Any) -> Any:
    """The table with the rows at the indices renormalized in place."""
    table = meta_of(weight)
    return Meta(table.shape, table.dtype)


# ---------------------------------------------------------------------- bags


def _bags(x: Meta, offsets: Meta | None, include_last_offset: bool) -> Any:
    """The number of bags."""
    if len(x.shape) == 2:
        return x.shape[0]
    if offsets is None:
        raise ShapeError("embedding_bag: a 1-d input needs offsets")
    n = offsets.shape[0]
    if not include_last_offset:
        return n
    expect(n >= 1, lambda: "embedding_bag: include_last_offset needs at least one offset")
    return plain(n - 1)


def _need_weights(x: Meta, weights: Any) -> None:
    if weights is None:
        return
    shape = shape_of(weights)
    if len(shape) != len(x.shape):
        raise ShapeError(
            f"embedding_bag: weights of shape {text(shape)} for indices of shape {text(x.shape)}"
        )
    for n, m in zip(shape, x.shape, strict=True):
        expect_equal(
            n, m, lambda: f"embedding_bag: {text(shape)} weights for {text(x.shape)} indices"
        )


@rule("F.embedding_bag")
def functional_embedding_bag(  # noqa: PLR0913, PLR0917  torch's signature
    x: Any, weight: Any, offsets: Any = None, max_norm: Any = None, norm_type: Any = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: Any = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima of the rows of each bag."""
    if not is_tensor(weight) or not meta_of(weight).dtype.is_floating_point:
        return NotImplemented  # a deprecated order of arguments
    table, indices = meta_of(weight), meta_of(x)
    _need_table(table)
    _need_weights(indices, per_sample_weights)
    bags = _bags(indices, None if offsets is None else meta_of(offsets), include_last_offset)
    out = Meta((bags, table.shape[1]), table.dtype)
    if max_norm is None:
        return out
    tracer = current()
    args = (
        x, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    result = tracer.record(torch.nn.functional.embedding_bag, args, {}, out)
    tracer.touch(weight)
    return Done(result)


@rule("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(  # noqa: PLR0913, PLR0917  torch's signature
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = SUM,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: Any = None,
) -> Any:  # fmt: skip
    """The bags, the bag of each index, the sizes of the bags, and the indices of the maxima.

    The CPU kernel leaves out what it does not need: the bags of the indices on its fast path for
    sums; the sizes and maxima unless a mean, a maximum or a gradient needs them.
    """
    table, flat, starts = meta_of(weight), meta_of(indices), meta_of(offsets)
    _need_table(table)
    _need_weights(flat, per_sample_weights)
    bags = _bags(flat, starts, include_last_offset)
    dtype = promote_types(flat.dtype, starts.dtype)
    fast = (
        mode == SUM
        and table.dtype in _FAST
        and (padding_idx is None or padding_idx < 0)
        and all(
            equal(strides_of(m)[-1], 1)
            for m in (table, *([] if per_sample_weights is None else [meta_of(per_sample_weights)]))
        )
    )
    owner = (0,) if fast else (flat.shape[0],)
    counted = mode != SUM or bool(table.requires_grad)
    sizes = (bags,) if counted else starts.shape
    best = (bags, table.shape[1]) if mode == MAX else sizes
    return Many(
        [
            Meta((bags, table.shape[1]), table.dtype),
            *[Meta(shape, dtype) for shape in (owner, sizes, best)],
        ]
    )
