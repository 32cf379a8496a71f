"""Convolutions and sliding windows, and how ops on images propagate the memory format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of
from anyshape.rules.subview import is_dense
from anyshape.rules.view import unsqueeze_meta
from anyshape.tensor.layout import (
    CHANNELS_LAST_2D,
    CHANNELS_LAST_3D,
    CONTIGUOUS,
    Layout,
    strides_of,
)
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import (
    ask,
    equal,
    expect,
    expect_equal,
    expect_size,
    is_one,
    plain,
    product,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ORDERS: Final = {4: CHANNELS_LAST_2D, 5: CHANNELS_LAST_3D}
_CHANNELS_LAST_1D: Final = (0, 2, 1)


# ---------------------------------------------------------------------- memory formats


def channels_last(meta: Meta) -> bool:
    """Whether eager infers channels-last from the strides of a batch of images."""
    rank = len(meta.shape)
    order = _ORDERS.get(rank)
    if order is None:
        return False
    layout, shape = meta.layout.found(), meta.shape
    if layout.dense and (layout.order is None or layout.order == order):
        return layout.order is not None
    strides = strides_of(meta)
    if type(strides[1]) is int and strides[1] == 0:
        return False
    least: Any = 0
    before: Any = 0
    for dim in reversed(order):
        n, stride = shape[dim], strides[dim]
        if (type(n) is int and n == 0) or ask(stride < least, ask(stride <= before, True)):
            return False
        before = stride
        if dim == 0 and equal(least, strides[1]):
            return False
        least = stride if is_one(n) else stride * n
    return True


def kept_format(*operands: Meta) -> Layout:
    """The layout of a result: channels-last if one of the operands is, else contiguous."""
    if all(is_dense(m) for m in operands):
        return CONTIGUOUS
    return Layout(make=lambda: _kept(operands))


def _kept(operands: Sequence[Meta]) -> Layout:
    for meta in operands:
        if channels_last(meta):
            return Layout(order=_ORDERS[len(meta.shape)])
    return CONTIGUOUS


def kept_format_1d(*operands: Meta) -> Layout:
    """`kept_format` for one spatial dimension, which eager computes as images of height 1."""
    if all(is_dense(m) or len(m.shape) != 3 for m in operands):
        return CONTIGUOUS

    def find() -> Layout:
        found = any(_channels_last_1d(m) for m in operands if len(m.shape) == 3)
        return Layout(order=_CHANNELS_LAST_1D) if found else CONTIGUOUS

    return Layout(make=find)


def _channels_last_1d(meta: Meta) -> bool:
    layout = meta.layout.found()
    if layout.dense:
        return layout.order == _CHANNELS_LAST_1D
    return channels_last(unsqueeze_meta(meta, 2))


# ---------------------------------------------------------------------- arguments


def per_dim(value: Any, count: int, op: str) -> tuple[Any, ...]:
    """One number for each spatial dimension, given one by one or once for all."""
    if not isinstance(value, tuple | list):
        return (plain(value),) * count
    if len(value) == 1:
        return (plain(value[0]),) * count
    if len(value) != count:
        raise ShapeError(f"{op}: expected {count} numbers, got {list(value)}")
    return tuple([plain(v) for v in value])


def window_count(n: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, op: str) -> Any:
    """The number of windows in a padded dimension; at least one is required."""
    room = n + (2 * padding - dilation * (kernel - 1) - 1)
    expect(
        room >= 0,
        lambda: (
            f"{op}: the window of size {text(plain(dilation * (kernel - 1) + 1))} does not fit in"
            f" {text(plain(n + 2 * padding))} elements, padding included"
        ),
    )
    if type(stride) is int and stride == 1:
        return plain(room + 1)
    return plain(room // stride + 1)


def need_positive(size: Any, what: str) -> None:
    """Require that a size is positive."""
    if type(size) is not int or size < 1:
        expect(size >= 1, lambda: f"{what} has {text(size)} elements, and at least 1 is needed")


def need_multiple(n: Any, of: Any, what: str) -> None:
    """Require that a size is a multiple of another."""
    expect(n % of == 0, lambda: f"{what}: {text(n)} is not a multiple of {text(of)}")


def batched(meta: Meta, rank: int, op: str) -> bool:
    """Whether the operand of an op over `rank` spatial dimensions has a batch dimension."""
    found = len(meta.shape)
    if found not in (rank + 1, rank + 2):
        raise ShapeError(
            f"{op}: expected {rank + 1} or {rank + 2} dimensions, got shape {text(meta.shape)}"
        )
    return found == rank + 2


# ---------------------------------------------------------------------- convolutions


def _operand_dtype(x: Meta, weight: Meta, op: str) -> torch.dtype:
    dtype, other = x.dtype, weight.dtype
    if dtype is not other:
        raise ShapeError(f"{op}: the input is {dtype}, the weight {other}")
    return dtype


def _need_channels(n: Any, m: Any, op: str, x: Meta, weight: Meta) -> None:
    expect_equal(
        n,
        m,
        lambda: (
            f"{op}: the weight of shape {text(weight.shape)} takes {text(m)} channels,"
            f" the input of shape {text(x.shape)} has {text(n)}"
        ),
    )


def _layout(rank: int, x: Meta, weight: Meta, onednn: Callable[[Meta], bool]) -> Layout:
    """The layout of a result. `onednn`: whether oneDNN, which keeps the memory format, convolves a
    batch of volumes.
    """
    if is_dense(x) and is_dense(weight):
        return CONTIGUOUS
    single = len(x.shape) == rank + 1

    def find() -> Layout:
        if rank == 1:
            layout = kept_format_1d(weight)
        else:
            batch = unsqueeze_meta(x, 0) if single else x
            if rank == 3 and not onednn(batch):
                return CONTIGUOUS
            layout = kept_format(batch, weight)
        order = layout.found().order
        return Layout(order=tuple([d - 1 for d in order if d > 0])) if single and order else layout

    return Layout(make=find)


def _uses_onednn(
    x: Meta, dtype: torch.dtype, groups: Any, weight: Meta, steps: tuple[Any, ...]
) -> bool:
    """Whether oneDNN convolves a batch of volumes on the CPU, by the conditions of ATen."""
    if dtype is torch.float64:
        return False
    if dtype is not torch.float32:
        return True
    kernel = weight.shape[-2:]
    small = all(type(n) is int and n == 1 for n in (*kernel, *steps))
    if small and torch.get_num_threads() == 1 and not ask(x.shape[0] >= 16, True):
        return False
    if not (type(groups) is int and groups == 1) or not is_one(x.shape[0]):
        return True
    return all(ask(n > 3, False) for n in kernel) or ask(product(x.shape[:4]) > 20480, False)


def _convolved(
    op: str, rank: int, x: Any, weight: Any, bias: Any, options: tuple[Any, Any, Any, Any]
) -> Meta:
    """The result of a convolution; the options are stride, padding, dilation and groups."""
    stride, padding, dilation, groups = options
    a, w = meta_of(x), meta_of(weight)
    batch = a.shape[:1] if batched(a, rank, op) else ()
    if len(w.shape) != rank + 2:
        raise ShapeError(f"{op}: expected a weight of {rank + 2} dimensions, got {text(w.shape)}")
    dtype = _operand_dtype(a, w, op)
    _need_channels(a.shape[-rank - 1], plain(w.shape[1] * groups), op, a, w)
    need_positive(w.shape[1], f"{op}: the channels of the weight")
    if bias is not None:
        _need_bias(bias, w.shape[0], op)
    strides, dilations = per_dim(stride, rank, op), per_dim(dilation, rank, op)
    sizes = a.shape[-rank:]
    if padding == "same":
        for s in strides:
            if s != 1:
                raise ShapeError(f"{op}: padding='same' is not supported for strided convolutions")
    else:
        pads = per_dim(0 if padding == "valid" else padding, rank, op)
        sizes = tuple(
            [
                window_count(n, k, s, p, d, op)
                for n, k, s, p, d in zip(sizes, w.shape[2:], strides, pads, dilations, strict=True)
            ]
        )
    steps = (*strides, *dilations)
    layout = _layout(rank, a, w, lambda x: _uses_onednn(x, dtype, groups, w, steps))
    return Meta((*batch, w.shape[0], *sizes), dtype, layout)


def _need_bias(bias: Any, channels: Any, op: str) -> None:
    (n,) = meta_of(bias).shape
    expect_equal(n, channels, lambda: f"{op}: a bias of {text(n)} for {text(channels)} channels")


def _transposed(
    op: str, rank: int, x: Any, weight: Any, bias: Any, options: tuple[Any, Any, Any, Any, Any]
) -> Meta:
    """The result of a transposed convolution; the options are stride, padding, output padding,
    groups and dilation.
    """
    stride, padding, output_padding, groups, dilation = options
    a, w = meta_of(x), meta_of(weight)
    batch = a.shape[:1] if batched(a, rank, op) else ()
    dtype = _operand_dtype(a, w, op)
    _need_channels(a.shape[-rank - 1], w.shape[0], op, a, w)
    channels = plain(w.shape[1] * groups)
    if bias is not None:
        _need_bias(bias, channels, op)
    sizes = []
    for n, k, s, p, o, d in zip(
        a.shape[-rank:],
        w.shape[2:],
        per_dim(stride, rank, op),
        per_dim(padding, rank, op),
        per_dim(output_padding, rank, op),
        per_dim(dilation, rank, op),
        strict=True,
    ):
        size = plain((n - 1) * s - 2 * p + d * (k - 1) + o + 1)
        expect_size(size, f"a size of the output of {op}")
        sizes.append(size)
    layout = _layout(rank, a, w, lambda x: _transposed_uses_onednn(x, dtype, w, options))
    return Meta((*batch, channels, *sizes), dtype, layout)


def _transposed_uses_onednn(
    x: Meta, dtype: torch.dtype, weight: Meta, options: tuple[Any, Any, Any, Any, Any]
) -> bool:
    """The same for transposed convolutions: oneDNN requires that `output_padding < stride`."""
    stride, _, output_padding, groups, dilation = options
    steps = [per_dim(v, 3, "convolution") for v in (stride, output_padding, dilation)]
    if any(ask(o >= s, False) for s, o in zip(steps[0], steps[1], strict=True)):
        return False
    return _uses_onednn(x, dtype, groups, weight, (*steps[0], *steps[2]))


def _of_rank(rank: int) -> None:
    name, transposed_name = f"conv{rank}d", f"conv_transpose{rank}d"

    @rule(name)
    def conv(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: Any = 1,
    ) -> Any:  # fmt: skip
        return _convolved(name, rank, x, weight, bias, (stride, padding, dilation, groups))

    @rule(transposed_name)
    def transposed(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: Any = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        options = (stride, padding, output_padding, groups, dilation)
        return _transposed(transposed_name, rank, x, weight, bias, options)


for _rank in (1, 2, 3):
    _of_rank(_rank)


@rule("convolution", "_convolution")
def convolution(  # noqa: PLR0913, PLR0917  torch's signature
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: Any, *_: Any, **__: Any,
) -> Any:  # fmt: skip
    """Any convolution; the rank of the weight gives the number of spatial dimensions."""
    rank = len(meta_of(weight).shape) - 2
    if transposed:
        options = (stride, padding, output_padding, groups, dilation)
        return _transposed("convolution", rank, x, weight, bias, options)
    return _convolved("convolution", rank, x, weight, bias, (stride, padding, dilation, groups))


@rule("conv_tbc")
def conv_tbc(x: Any, weight: Any, bias: Any, pad: Any = 0) -> Any:
    """A convolution along time, of tensors with dimensions (time, batch, channels)."""
    a, w = meta_of(x), meta_of(weight)
    time, batch, channels = a.shape
    _need_channels(channels, w.shape[1], "conv_tbc", a, w)
    count = window_count(time, w.shape[0], 1, plain(pad), 1, "conv_tbc")
    return Meta((count, batch, w.shape[2]), _operand_dtype(a, w, "conv_tbc"))


# ---------------------------------------------------------------------- windows as columns


@rule("im2col")
def im2col(x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The windows of images as columns."""
    meta = meta_of(x)
    batch = meta.shape[:1] if batched(meta, 2, "unfold") else ()
    kernel = per_dim(kernel_size, 2, "unfold")
    counts = _counts(meta.shape[-2:], kernel, dilation, padding, stride, "unfold")
    rows = plain(meta.shape[-3] * product(kernel))
    return Meta((*batch, rows, plain(product(counts))), meta.dtype)


@rule("col2im")
def col2im(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """Images as the sums of their overlapping windows."""
    meta = meta_of(x)
    batch = meta.shape[:1] if batched(meta, 1, "fold") else ()
    size, kernel = per_dim(output_size, 2, "fold"), per_dim(kernel_size, 2, "fold")
    counts = _counts(size, kernel, dilation, padding, stride, "fold")
    rows, columns = meta.shape[-2:]
    area = plain(product(kernel))
    need_multiple(rows, area, "fold: rows and elements of a window")
    blocks = plain(product(counts))
    expect_equal(
        columns, blocks, lambda: f"fold: {text(columns)} columns for {text(blocks)} windows"
    )
    return Meta((*batch, plain(rows // area), *size), meta.dtype)


def _counts(
    sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any, op: str
) -> tuple[Any, ...]:
    options = (per_dim(v, 2, op) for v in (stride, padding, dilation))
    return tuple(
        [
            window_count(n, k, s, p, d, op)
            for n, k, s, p, d in zip(sizes, kernel, *options, strict=True)
        ]
    )
