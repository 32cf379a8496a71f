"""Normalization layers, and distances between vectors."""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.conv import kept_format, need_multiple
from anyshape.rules.dispatch.autocast import computed_in
from anyshape.rules.dispatch.result import Done, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.reduction import reduced
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import dim_of, meta_of, shape_of
from anyshape.rules.shared.promote import floating, real_of, result_dtype
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, is_zero, plain, product, text
from anyshape.torch_compat.aten_op import BATCH_NORM_WITH_UPDATE

_LOW: Final = (torch.bfloat16, torch.float16)


def _stat_dtype(meta: Meta, *weights: Any) -> torch.dtype:
    """The dtype of means and deviations: for low precision that of the weights."""
    for w in weights:
        if w is not None and meta.dtype in _LOW:
            return meta_of(w).dtype
    return meta.dtype


# ---------------------------------------------------------------------- over the last dimensions


def _need_tail(op: str, shape: tuple[Any, ...], tail: Any) -> int:
    """Require that a shape ends in the normalized one; return the number of leading dimensions."""
    tail = tuple(tail) if isinstance(tail, tuple | list) else (tail,)
    lead = len(shape) - len(tail)
    if lead < 0 or not tail:
        raise ShapeError(f"{op}: shape {text(shape)} does not end in {text(tail)}")
    for n, m in zip(shape[lead:], tail, strict=True):
        if n is not m:
            expect_equal(n, m, lambda: f"{op}: shape {text(shape)} does not end in {text(tail)}")
    return lead


@rule("layer_norm", "F.layer_norm")
def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5,
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """Each row shifted and scaled to mean 0 and deviation 1."""
    meta = meta_of(x)
    _need_tail("layer_norm", meta.shape, normalized_shape)
    for w in (weight, bias):
        if w is not None:
            _need_tail("layer_norm weights", shape_of(w), normalized_shape)
    return Meta(meta.shape, meta.dtype)


@rule("native_layer_norm")
def native_layer_norm(x: Any, normalized_shape: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """The same with the means and the inverse deviations."""
    meta = meta_of(x)
    lead = _need_tail("native_layer_norm", meta.shape, normalized_shape)
    shape = (*meta.shape[:lead], *(1,) * (len(meta.shape) - lead))
    dtype = _stat_dtype(meta, weight, bias)
    stats = [Meta(shape, dtype, requires_grad=False) for _ in range(2)]
    return Many([Meta(meta.shape, meta.dtype), *stats])


@rule("rms_norm", "F.rms_norm")
def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    """Each row scaled to a root mean square of 1."""
    meta = meta_of(x)
    _need_tail("rms_norm", meta.shape, normalized_shape)
    dtype = meta.dtype
    if weight is not None and dtype is not meta_of(weight).dtype:
        dtype = result_dtype(x, weight) if dtype not in _LOW else dtype
    return Meta(meta.shape, dtype, kept_format(meta))


# ---------------------------------------------------------------------- over groups of channels


@rule("group_norm", "F.group_norm")
def group_norm(
    x: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Groups of channels shifted and scaled."""
    meta = meta_of(x)
    if len(meta.shape) < 2:
        raise ShapeError(f"group_norm: expected a batch of channels, got {text(meta.shape)}")
    need_multiple(meta.shape[1], num_groups, "group_norm: channels and groups")
    _need_channels("group_norm", meta, weight, bias)
    return Meta(meta.shape, meta.dtype, kept_format(meta))


@rule("native_group_norm")
def native_group_norm(
    x: Any, weight: Any, bias: Any, N: Any, C: Any, HxW: Any, group: Any, eps: Any,  # noqa: N803
) -> Any:  # fmt: skip
    """The same with the means and the inverse deviations."""
    meta = meta_of(x)
    need_multiple(C, group, "group_norm: channels and groups")
    shape = (plain(N), plain(group))
    dtype = _stat_dtype(meta, weight, bias)
    out = Meta(meta.shape, meta.dtype, kept_format(meta))
    return Many([out, Meta(shape, dtype), Meta(shape, dtype)])


# ---------------------------------------------------------------------- over batches


def _updating(func: Any, args: tuple[Any, ...], out: Any, *stats: Any) -> Done:
    """Record a call that also updates the running statistics."""
    tracer = current()
    result = tracer.record(func, args, {}, out)
    for s in stats:
        if s is not None:
            tracer.touch(s)
    return Done(result)


def _need_channels(op: str, meta: Meta, *weights: Any) -> Any:
    if len(meta.shape) < 2:
        raise ShapeError(f"{op}: expected a batch of channels, got shape {text(meta.shape)}")
    n = meta.shape[1]
    for w in weights:
        if w is not None:
            _need_channel_weight(op, n, shape_of(w)[0])
    return n


def _need_channel_weight(op: str, n: Any, m: Any) -> None:
    if n is not m:
        expect_equal(n, m, lambda: f"{op}: weights of {text(m)} elements for {text(n)} channels")


def _need_several(op: str, sizes: tuple[Any, ...]) -> None:
    """Require more than one value per channel."""
    if any((n if type(n) is int else n.expr.lo) >= 2 for n in sizes):
        return
    expect(
        product(sizes) != 1, lambda: f"{op}: expected more than 1 value per channel when training"
    )


@rule("batch_norm")
def batch_norm(  # noqa: PLR0913, PLR0917  torch's signature
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: Any, eps: Any, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """Channels shifted and scaled by the statistics of the batch or by running ones."""
    meta = meta_of(x)
    if not (
        len(meta.shape) == 1 and is_zero(meta.shape[0])
    ):  # an empty vector is returned unchanged
        _need_channels("batch_norm", meta, weight, bias, running_mean, running_var)
    out = Meta(meta.shape, meta.dtype, kept_format(meta))
    if not training:
        return out
    args = (
        x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled,
    )  # fmt: skip
    return _updating(torch.batch_norm, args, out, running_mean, running_var)


@rule("F.batch_norm")
def functional_batch_norm(
    x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: Any = 0.1, eps: Any = 1e-5,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if training:
        shape = shape_of(x)
        _need_several("batch_norm", (*shape[:1], *shape[2:]))
    args = (
        x, weight, bias, running_mean, running_var, training, momentum, eps,
        torch.backends.cudnn.enabled,
    )  # fmt: skip
    out = batch_norm(*args)
    return out if type(out) is Done else Done(current().record(torch.batch_norm, args, {}, out))


@rule("instance_norm")
def instance_norm(  # noqa: PLR0913, PLR0917  torch's signature
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, use_input_stats: bool,
    momentum: Any, eps: Any, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """The channels of each member of a batch shifted and scaled."""
    meta = meta_of(x)
    _need_channels("instance_norm", meta, weight, bias, running_mean, running_var)
    out = Meta(meta.shape, meta.dtype)
    if not use_input_stats:
        return out
    args = (
        x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled,
    )  # fmt: skip
    return _updating(torch.instance_norm, args, out, running_mean, running_var)


@rule("F.instance_norm")
def functional_instance_norm(
    x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: Any = 0.1, eps: Any = 1e-5,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if use_input_stats:
        _need_several("instance_norm", shape_of(x)[2:])
    args = (
        x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
        torch.backends.cudnn.enabled,
    )  # fmt: skip
    out = instance_norm(*args)
    return out if type(out) is Done else Done(current().record(torch.instance_norm, args, {}, out))


def _batch_stats(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, *, extra: int = 0
) -> Many:
    """The result with the statistics of the batch, which are empty if running ones are used."""
    meta = meta_of(x)
    n = _need_channels("native_batch_norm", meta, weight, bias, mean, var)
    shape = (n,) if training else (0,)
    dtype = _stat_dtype(meta, weight, mean)
    stats = [Meta(shape, dtype, requires_grad=False) for _ in range(2)]
    reserve = [Meta((0,), torch.uint8) for _ in range(extra)]
    return Many([Meta(meta.shape, meta.dtype, kept_format(meta)), *stats, *reserve])


@rule("native_batch_norm", "_native_batch_norm_legit")
def native_batch_norm(
    x: Any, weight: Any = None, bias: Any = None, running_mean: Any = None,
    running_var: Any = None, training: Any = None, momentum: Any = None, eps: Any = None,
) -> Any:  # fmt: skip
    """Batch normalization with its statistics; the overload without running ones too."""
    if isinstance(running_mean, bool):  # x, weight, bias, training, momentum, eps
        return _batch_stats(x, weight, bias, None, None, running_mean)
    out = _batch_stats(x, weight, bias, running_mean, running_var, training)
    if not training:
        return out
    args = (x, weight, bias, running_mean, running_var, training, momentum, eps)
    return _updating(torch.native_batch_norm, args, out, running_mean, running_var)


@rule("_native_batch_norm_legit_functional")
def native_batch_norm_functional(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: Any, eps: Any,
) -> Any:  # fmt: skip
    """Batch normalization that gives new running statistics."""
    out = _batch_stats(x, weight, bias, running_mean, running_var, training)
    return Many([*out.parts, *_running(running_mean, running_var)])


@rule("_native_batch_norm_legit_no_training")
def native_batch_norm_no_training(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: Any, eps: Any
) -> Any:
    """Batch normalization by running statistics."""
    return _batch_stats(x, weight, bias, running_mean, running_var, False)


@rule("_batch_norm_with_update_functional")
def batch_norm_with_update_functional(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: Any, eps: Any
) -> Any:
    """Batch normalization in training that gives new running statistics."""
    out = _batch_stats(x, weight, bias, running_mean, running_var, True, extra=1)
    return Many([*out.parts, *_running(running_mean, running_var)])


def _running(mean: Any, var: Any) -> list[Meta]:
    """New running statistics."""
    metas = [meta_of(x) for x in (mean, var)]
    return [Meta(m.shape, m.dtype, requires_grad=False) for m in metas]


@rule("_batch_norm_with_update")
def batch_norm_with_update(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: Any, eps: Any
) -> Any:
    """Batch normalization in training, with what the backward pass needs."""
    out = _batch_stats(x, weight, bias, running_mean, running_var, True, extra=1)
    args = (x, weight, bias, running_mean, running_var, momentum, eps)
    return _updating(BATCH_NORM_WITH_UPDATE, args, out, running_mean, running_var)


@rule("_batch_norm_no_update")
def batch_norm_no_update(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: Any, eps: Any
) -> Any:
    """Batch normalization by running statistics, with what the backward pass needs."""
    return _batch_stats(x, weight, bias, running_mean, running_var, False, extra=1)


@rule("F.local_response_norm")
def local_response_norm(
    x: Any, size: int, alpha: Any = 1e-4, beta: Any = 0.75, k: Any = 1.0
) -> Any:
    """Elements scaled by their neighbours in other channels."""
    meta = meta_of(x)
    if len(meta.shape) < 3:
        raise ShapeError(f"local_response_norm: expected 3 dimensions, got {text(meta.shape)}")
    count = plain(product(meta.shape))
    if type(count) is int and count == 0:
        return Done(x)
    dtype = floating(computed_in("avg_pool3d", meta) if len(meta.shape) > 3 else meta.dtype)
    if dtype is not meta.dtype:
        expect(count != 0, lambda: "local_response_norm: an input without elements keeps its dtype")
    return like(x, dtype)


# ---------------------------------------------------------------------- weights


@rule("norm_except_dim")
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:
    """The norm over all dimensions but one; over all for -1."""
    meta = meta_of(v)
    if dim == -1:
        return Meta((), real_of(meta.dtype))
    shape = tuple([n if d == dim else 1 for d, n in enumerate(meta.shape)])
    return Meta(shape, real_of(meta.dtype))


# ---------------------------------------------------------------------- distances


@rule("cosine_similarity")
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: Any = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dimension."""
    shape = broadcast(shape_of(x1), shape_of(x2))
    dtype = floating(result_dtype(x1, x2))
    return Meta(reduced(shape, dim_of(dim, len(shape)), keepdim=False), dtype)


@rule("pairwise_distance")
def pairwise_distance(x1: Any, x2: Any, p: Any = 2, eps: Any = 1e-6, keepdim: bool = False) -> Any:
    """The norm of the difference of vectors."""
    shape = broadcast(shape_of(x1), shape_of(x2))
    dtype = real_of(floating(result_dtype(x1, x2)))
    if not shape:
        return Meta((), dtype)
    return Meta((*shape[:-1], 1) if keepdim else shape[:-1], dtype)


@rule("cdist")
def cdist(x1: Any, x2: Any, p: Any = 2, compute_mode: Any = None) -> Any:
    """The distances between all rows of two batches."""
    a, b = meta_of(x1), meta_of(x2)
    expect_equal(
        a.shape[-1],
        b.shape[-1],
        lambda: f"cdist: rows of {text(a.shape[-1])} and {text(b.shape[-1])} elements",
    )
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    return Meta((*batch, a.shape[-2], b.shape[-2]), a.dtype)


@rule("pdist")
def pdist(x: Any, p: Any = 2) -> Any:
    """The distances between all rows, each pair once."""
    n, _ = shape_of(x)
    return Meta((plain(n * (n - 1) // 2),), meta_of(x).dtype)
