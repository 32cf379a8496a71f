"""Padding: more or fewer elements at the ends of dimensions, from the last one on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ShapeError
from anyshape.rules.conv import kept_format
from anyshape.rules.dispatch.autocast import computed_in
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of
from anyshape.rules.subview import sliced
from anyshape.tensor.layout import Layout, pointwise
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import ask, expect, expect_size, plain, text

if TYPE_CHECKING:
    import torch


def _pairs(meta: Meta, pad: Any) -> list[tuple[int, Any, Any]]:
    """(dimension, width before, width after) for each pair of widths."""
    rank = len(meta.shape)
    if len(pad) % 2 or len(pad) > 2 * rank:
        raise ShapeError(f"pad: padding {text(tuple(pad))} does not fit shape {text(meta.shape)}")
    return [(rank - 1 - i, plain(pad[2 * i]), plain(pad[2 * i + 1])) for i in range(len(pad) // 2)]


def _padded(meta: Meta, pairs: list[tuple[int, Any, Any]]) -> tuple[Any, ...]:
    shape = list(meta.shape)
    for dim, before, after in pairs:
        shape[dim] = n = plain(shape[dim] + before + after)
        expect_size(n, f"the padded size of dimension {dim}")
    return tuple(shape)


def _need_at_most(a: Any, b: Any, what: str) -> None:
    if type(a) is not int or type(b) is not int or a > b:
        expect(a <= b, lambda: f"{what}: {text(a)} is more than {text(b)}")


def _constant(meta: Meta, pad: Any) -> Meta:
    pairs = _pairs(meta, pad)
    for dim, before, after in pairs:
        n = meta.shape[dim]
        for width in (before, after):
            if type(width) is not int or width < 0:
                _need_at_most(-width, n, f"pad: elements removed from dimension {dim}")
    shape = _padded(meta, pairs)
    widths = [w for _, *both in pairs for w in both]

    def find() -> Layout:
        grows = any(ask(w > 0, True) for w in widths)
        return kept_format(meta) if grows else _cropped_layout(meta, pairs, shape)

    return Meta(shape, meta.dtype, Layout(make=find))


def _cropped_layout(
    meta: Meta, pairs: list[tuple[int, Any, Any]], shape: tuple[Any, ...]
) -> Layout:
    """The layout of a copy of a part: the order of the dimensions is kept."""
    layout = meta.layout.found()
    if layout.dense:
        return Layout(order=layout.order)
    view = meta
    for dim, before, after in pairs:
        view = sliced(view, dim, -before, plain(view.shape[dim] + before + after))
    return pointwise(shape, [view])


def _reflected(meta: Meta, pad: Any) -> Meta:
    pairs = _pairs(meta, pad)
    for dim, before, after in pairs:
        n = meta.shape[dim]
        for width in (before, after):
            _need_at_most(width, plain(n - 1), f"pad: reflected elements of dimension {dim}")
    return _extended(meta, pad, computed_in(f"reflection_pad{len(pairs)}d", meta))


def _replicated(meta: Meta, pad: Any) -> Meta:
    return _extended(meta, pad, computed_in(f"replication_pad{len(pad) // 2}d", meta))


def _extended(meta: Meta, pad: Any, dtype: torch.dtype) -> Meta:
    pairs = _pairs(meta, pad)
    _need_rank(meta, pairs)
    return Meta(_padded(meta, pairs), dtype, kept_format(meta))


def _need_rank(meta: Meta, pairs: list[Any]) -> None:
    if not 1 <= len(pairs) <= 3 or len(meta.shape) - len(pairs) not in (1, 2):
        raise ShapeError(
            f"pad: {len(pairs)} dimensions of a tensor of shape {text(meta.shape)} cannot be padded"
            " by this mode"
        )


def _circular(meta: Meta, pad: Any) -> Meta:
    pairs = _pairs(meta, pad)
    _need_rank(meta, pairs)
    for dim, before, after in pairs:
        n = meta.shape[dim]
        for width in (before, after):
            _need_at_most(width, n, f"pad: repeated elements of dimension {dim}")
    return Meta(_padded(meta, pairs), meta.dtype)


@rule("pad", "F.pad")
def pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Padding by a mode."""
    meta = meta_of(x)
    if mode == "constant":
        return _constant(meta, pad)
    if mode == "reflect":
        return _reflected(meta, pad)
    if mode == "replicate":
        return _replicated(meta, pad)
    if mode == "circular":
        return _circular(meta, pad)
    raise ShapeError(f"pad: unknown mode {mode!r}")


@rule("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(x: Any, padding: Any) -> Any:
    """Padding by the mirror image."""
    return _reflected(meta_of(x), padding)


@rule("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(x: Any, padding: Any) -> Any:
    """Padding by the outermost elements."""
    return _replicated(meta_of(x), padding)


@rule("constant_pad_nd")
def constant_pad_nd(x: Any, pad: Any, value: Any = 0) -> Any:
    """The op behind `pad` with mode "constant"."""
    return _constant(meta_of(x), pad)
