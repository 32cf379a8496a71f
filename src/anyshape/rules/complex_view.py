"""Views of complex tensors as pairs of real numbers, and of such pairs as complex tensors."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.result import Done
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of
from anyshape.rules.shared.promote import complex_of, real_of
from anyshape.tensor.layout import offset_of, strides_of, viewed
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect_equal, plain


@rule("view_as_real", view=True)
def view_as_real(x: Any) -> Any:
    """Real and imaginary parts as a last dimension of size 2."""
    meta = meta_of(x)
    if not meta.dtype.is_complex:
        raise ShapeError("view_as_real is only supported for complex tensors")

    def find() -> Any:
        return (*[plain(s * 2) for s in strides_of(meta)], 1)

    return Meta((*meta.shape, 2), real_of(meta.dtype), viewed(meta, find))


@rule("view_as_complex", view=True)
def view_as_complex(x: Any) -> Any:
    """A last dimension of size 2 as complex numbers."""
    meta = meta_of(x)
    if not meta.shape:
        raise ShapeError("Input tensor must have one or more dimensions")
    expect_equal(meta.shape[-1], 2, lambda: "view_as_complex: the last dimension must be 2")

    def find() -> Any:
        return tuple([plain(s // 2) for s in strides_of(meta)[:-1]])

    return Meta(meta.shape[:-1], complex_of(meta.dtype), viewed(meta, find))


@rule("real", view=True)
def real(x: Any) -> Any:
    """The real part."""
    meta = meta_of(x)
    if not meta.dtype.is_complex:
        return Done(x)
    return _part_of_complex(meta, 0)


@rule("imag", view=True)
def imag(x: Any) -> Any:
    """The imaginary part."""
    meta = meta_of(x)
    if not meta.dtype.is_complex:
        raise ShapeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part_of_complex(meta, 1)


def _part_of_complex(meta: Meta, place: int) -> Meta:
    return Meta(
        meta.shape,
        real_of(meta.dtype),
        viewed(
            meta,
            lambda: tuple([plain(s * 2) for s in strides_of(meta)]),
            lambda: plain(offset_of(meta) * 2 + place),
        ),
    )
