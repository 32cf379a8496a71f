"""Interpolation of images, sampling at points, and exchange of channels and pixels."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.rules.conv import kept_format, need_multiple, need_positive
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pooling import scaled
from anyshape.rules.shared.operand import meta_of
from anyshape.tensor.layout import CONTIGUOUS
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, plain, product, text


def _upsampled(rank: int, x: Any, output_size: Any, scale_factors: Any, op: str) -> Meta:
    """The result of an interpolation to given sizes or by given factors."""
    meta = meta_of(x)
    shape = meta.shape
    if len(shape) != rank + 2:
        raise ShapeError(f"{op}: expected {rank + 2} dimensions, got shape {text(shape)}")
    if output_size is None:
        if scale_factors is None:
            raise ShapeError(f"{op} takes an output size or scale factors")
        output_size = [scaled(n, f) for n, f in zip(shape[2:], scale_factors, strict=True)]
    sizes = tuple([plain(n) for n in output_size])
    for n, m in zip(shape[2:], sizes, strict=True):
        need_positive(n, f"{op}: the input")
        need_positive(m, f"{op}: the output")
    layout = CONTIGUOUS if rank == 1 else kept_format(meta)
    return Meta((*shape[:2], *sizes), meta.dtype, layout)


def _nearest(rank: int, name: str) -> None:
    @rule(name)
    def nearest(x: Any, output_size: Any, scale_factors: Any = None, *_: Any, **__: Any) -> Any:
        factors = scale_factors if isinstance(scale_factors, tuple | list) else None
        return _upsampled(rank, x, output_size, factors, name)


def _smooth(rank: int, name: str) -> None:
    @rule(name)
    def smooth(
        x: Any, output_size: Any, align_corners: bool, scale_factors: Any = None, *_: Any,
        **__: Any,
    ) -> Any:  # fmt: skip
        factors = scale_factors if isinstance(scale_factors, tuple | list) else None
        return _upsampled(rank, x, output_size, factors, name)


for _rank in (1, 2, 3):
    _nearest(_rank, f"upsample_nearest{_rank}d")
    _nearest(_rank, f"_upsample_nearest_exact{_rank}d")
for _name in (
    "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa",
):  # fmt: skip
    _smooth(2, _name)
_smooth(1, "upsample_linear1d")
_smooth(3, "upsample_trilinear3d")


# ---------------------------------------------------------------------- sampling at points


@rule(
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback"
)  # fmt: skip
def grid_sampler(
    x: Any, grid: Any, interpolation_mode: Any, padding_mode: Any, align_corners: Any
) -> Any:
    """Pixels read at the points of a grid."""
    meta, points = meta_of(x), meta_of(grid)
    if len(points.shape) != len(meta.shape):
        raise ShapeError(
            f"grid_sample: input {text(meta.shape)} and grid {text(points.shape)} differ in rank"
        )
    expect_equal(
        meta.shape[0],
        points.shape[0],
        lambda: f"grid_sample: batches of {text(meta.shape[0])} and {text(points.shape[0])}",
    )
    expect_equal(
        points.shape[-1],
        len(meta.shape) - 2,
        lambda: f"grid_sample: points of {text(points.shape[-1])} coordinates",
    )
    return Meta((*meta.shape[:2], *points.shape[1:-1]), meta.dtype)


@rule("affine_grid_generator")
def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """The points that affine maps sample the pixels of images at."""
    meta = meta_of(theta)
    rank = len(size) - 2
    batch = plain(size[0])
    expect_equal(
        meta.shape[0],
        batch,
        lambda: f"affine_grid: {text(meta.shape[0])} maps for a batch of {text(batch)}",
    )
    return Meta((batch, *[plain(n) for n in size[2:]], rank), meta.dtype)


@rule("F.affine_grid")
def affine_grid(theta: Any, size: Any, align_corners: Any = None) -> Any:
    """The function of `torch.nn.functional`."""
    meta = meta_of(theta)
    rank = len(size) - 2
    if rank not in (2, 3) or len(meta.shape) != 3 or not meta.dtype.is_floating_point:
        raise ShapeError(
            f"affine_grid: maps of shape {text(meta.shape)} for images of shape {text(tuple(size))}"
        )
    for n, m in zip(meta.shape[1:], (rank, rank + 1), strict=True):
        _need_map(n, m, meta)
    for n in size:
        need_positive(n, "affine_grid: the output")
    return affine_grid_generator(theta, size, align_corners)


def _need_map(n: Any, m: int, meta: Meta) -> None:
    expect_equal(
        n, m, lambda: f"affine_grid: maps of shape {text(meta.shape)}, {text(n)} is not {m}"
    )


# ---------------------------------------------------------------------- channels and pixels


def _need_image(meta: Meta, op: str) -> tuple[Any, ...]:
    if len(meta.shape) < 3:
        raise ShapeError(f"{op}: expected at least 3 dimensions, got shape {text(meta.shape)}")
    return meta.shape[-3:]


@rule("pixel_shuffle")
def pixel_shuffle(x: Any, upscale_factor: Any) -> Any:
    """Channels laid out as pixels."""
    meta = meta_of(x)
    channels, height, width = _need_image(meta, "pixel_shuffle")
    r = plain(upscale_factor)
    area = plain(r * r)
    need_multiple(channels, area, "pixel_shuffle: channels and squared factor")
    shape = (*meta.shape[:-3], plain(channels // area), plain(height * r), plain(width * r))
    return Meta(shape, meta.dtype, kept_format(meta) if len(shape) == 4 else CONTIGUOUS)


@rule("pixel_unshuffle")
def pixel_unshuffle(x: Any, downscale_factor: Any) -> Any:
    """Pixels laid out as channels."""
    meta = meta_of(x)
    channels, height, width = _need_image(meta, "pixel_unshuffle")
    r = plain(downscale_factor)
    for n in (height, width):
        need_multiple(n, r, "pixel_unshuffle: pixels and factor")
    count = plain(product(meta.shape))
    if type(count) is int and count == 0:
        return Meta(meta.shape, meta.dtype)
    expect(count != 0, lambda: "pixel_unshuffle: an input without elements keeps its shape")
    shape = (*meta.shape[:-3], plain(channels * r * r), plain(height // r), plain(width // r))
    return Meta(shape, meta.dtype, kept_format(meta) if len(shape) == 4 else CONTIGUOUS)


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(x: Any, groups: Any) -> Any:
    """Channels of several groups interleaved."""
    meta = meta_of(x)
    _need_image(meta, "channel_shuffle")
    channels = meta.shape[1]
    need_multiple(channels, groups, "channel_shuffle: channels and groups")
    return Meta(meta.shape, meta.dtype, kept_format(meta))
