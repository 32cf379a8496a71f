"""Pooling: the maximum or mean of windows, and unpooling."""

from __future__ import annotations

import math
from typing import Any

import torch

from anyshape.errors import ShapeError
from anyshape.rules.conv import (
    batched,
    kept_format,
    kept_format_1d,
    need_positive,
    per_dim,
    window_count,
)
from anyshape.rules.dispatch.result import Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_size, plain, smaller, text


def _pooled(
    n: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, op: str
) -> Any:
    """The number of windows; with `ceil_mode` the last may extend beyond the end."""
    if not ceil_mode:
        return window_count(n, kernel, stride, padding, dilation, op)
    reach = dilation * (kernel - 1) + 1
    count = plain((n + (2 * padding - reach + stride - 1)) // stride + 1)
    whole = all(type(v) is int for v in (reach, padding, stride)) and reach >= padding + stride
    if not whole:  # no window starts beyond the end
        count = smaller(count, plain((n + padding - 1) // stride + 1))
    expect(count >= 1, lambda: f"{op}: no window fits in {text(n)} elements")
    return count


def _sizes(
    meta: Meta, rank: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    op: str,
) -> tuple[Any, ...]:  # fmt: skip
    batched(meta, rank, op)
    kernels = per_dim(kernel, rank, op)
    strides = kernels
    if stride is not None and not (isinstance(stride, tuple | list) and not stride):
        strides = per_dim(stride, rank, op)
    pads, dilations = per_dim(padding, rank, op), per_dim(dilation, rank, op)
    for k, p in zip(kernels, pads, strict=True):
        _need_half(p, k, op)
    return tuple(
        [
            _pooled(n, k, s, p, d, ceil_mode, op)
            for n, k, s, p, d in zip(
                meta.shape[-rank:], kernels, strides, pads, dilations, strict=True
            )
        ]
    )


def _need_half(p: Any, k: Any, op: str) -> None:
    expect(2 * p <= k, lambda: f"{op}: padding {text(p)} is over half of kernel size {text(k)}")


def _layout(meta: Meta, rank: int) -> Layout:
    if len(meta.shape) != rank + 2:
        return CONTIGUOUS
    return kept_format_1d(meta) if rank == 1 else kept_format(meta)


def _of_rank(rank: int) -> None:
    name, indexed, mean = f"max_pool{rank}d", f"max_pool{rank}d_with_indices", f"avg_pool{rank}d"

    def pooled(
        x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
    ) -> Meta:
        meta = meta_of(x)
        sizes = _sizes(meta, rank, kernel_size, stride, padding, dilation, ceil_mode, name)
        return Meta((*meta.shape[:-rank], *sizes), meta.dtype, _layout(meta, rank))

    @rule(name)
    def max_pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        out = pooled(x, kernel_size, stride, padding, dilation, ceil_mode)
        if rank == 1 and not (meta_of(x).requires_grad and torch.is_grad_enabled()):
            out.layout = CONTIGUOUS  # a separate kernel runs without gradients
        return out

    @rule(indexed)
    def max_pool_with_indices(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        out = pooled(x, kernel_size, stride, padding, dilation, ceil_mode)
        return Many([out, Meta(out.shape, torch.int64, out.layout)])

    @rule(f"F.{indexed}")
    def functional_max_pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return max_pool_with_indices(x, kernel_size, stride, padding, dilation, ceil_mode)

    @rule(mean)
    def avg_pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        meta = meta_of(x)
        sizes = _sizes(meta, rank, kernel_size, stride, padding, 1, ceil_mode, mean)
        layout = CONTIGUOUS if rank == 3 else _layout(meta, rank)
        return Meta((*meta.shape[:-rank], *sizes), meta.dtype, layout)

    @rule(f"adaptive_avg_pool{rank}d")
    def adaptive_avg_pool(x: Any, output_size: Any) -> Any:
        meta = meta_of(x)
        batched(meta, rank, mean)
        sizes = _output(output_size, rank)
        if any(
            type(n) is not int or n != 1 for n in sizes
        ):  # else a mean, which takes empty inputs
            for n in meta.shape[-rank:]:
                need_positive(n, "adaptive average pooling: the input")
        layout = CONTIGUOUS if rank == 3 else _layout(meta, rank)
        return Meta((*meta.shape[:-rank], *sizes), meta.dtype, layout)

    @rule(f"adaptive_max_pool{rank}d")
    def adaptive_max_pool(x: Any, output_size: Any) -> Any:
        meta = meta_of(x)
        batched(meta, rank, name)
        shape = (*meta.shape[:-rank], *_output(output_size, rank))
        for n in meta.shape[-rank:]:
            need_positive(n, "adaptive max pooling: the input")
        layout = CONTIGUOUS if rank == 3 else _layout(meta, rank)
        return Many([Meta(shape, meta.dtype, layout), Meta(shape, torch.int64, layout)])


def _output(size: Any, rank: int) -> tuple[Any, ...]:
    sizes = per_dim(size, rank, "adaptive pooling")
    for n in sizes:
        expect_size(n, "an output size of adaptive pooling")
    return sizes


for _rank in (1, 2, 3):
    _of_rank(_rank)


@rule("max_pool2d_with_indices_backward")
def max_pool2d_backward(grad_output: Any, x: Any, *_: Any, **__: Any) -> Any:
    """The gradient of the input."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype, _layout(meta, 2))


# ---------------------------------------------------------------------- unpooling


@rule("max_unpool2d")
def max_unpool2d(x: Any, indices: Any, output_size: Any) -> Any:
    """The maxima put back at their indices in images."""
    meta = meta_of(x)
    sizes = per_dim(output_size, 2, "max_unpool2d")
    return Meta((*meta.shape[:-2], *sizes), meta.dtype, _layout(meta, 2))


@rule("max_unpool3d")
def max_unpool3d(x: Any, indices: Any, output_size: Any, stride: Any, padding: Any) -> Any:
    """The maxima put back at their indices in volumes."""
    meta = meta_of(x)
    sizes = per_dim(output_size, 3, "max_unpool3d")
    return Meta((*meta.shape[:-3], *sizes), meta.dtype)


# ---------------------------------------------------------------------- windows at random places


def scaled(n: Any, factor: float) -> Any:
    """`n * factor` rounded down, in floating point as in eager execution."""
    if type(n) is int:
        return int(n * factor)
    over, under = float(factor).as_integer_ratio()
    if under <= 1 << 20 and over <= 1 << 20:  # the product is exact
        return plain(n * over // under)
    return plain(math.floor(n * factor))


def _need_room(n: Any, k: Any, m: Any, op: str) -> None:
    expect(m + k - 1 <= n, lambda: f"{op}: {text(m)} windows do not fit in {text(n)} elements")


def _fractional(rank: int) -> None:
    name = f"fractional_max_pool{rank}d"

    @rule(name)
    def fractional(x: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> Any:
        meta = meta_of(x)
        batched(meta, rank, name)
        kernel = per_dim(kernel_size, rank, name)
        sizes = per_dim(output_size, rank, name)
        for n, k, m in zip(meta.shape[-rank:], kernel, sizes, strict=True):
            _need_room(n, k, m, name)
        shape = (*meta.shape[:-rank], *sizes)
        return Many([Meta(shape, meta.dtype), Meta(shape, torch.int64)])

    @rule(f"F.{name}_with_indices", random=True)
    def functional(
        x: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> Any:  # fmt: skip
        if output_size is None:
            if output_ratio is None:
                raise ShapeError(f"{name} takes an output_size or an output_ratio")
            ratio = per_dim(output_ratio, rank, name)
            output_size = [
                scaled(n, r) for n, r in zip(meta_of(x).shape[-rank:], ratio, strict=True)
            ]
        return fractional(x, kernel_size, output_size, None)


for _rank in (2, 3):
    _fractional(_rank)
