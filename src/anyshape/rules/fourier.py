"""Discrete Fourier transforms.

The layout of a transform over several dimensions is that of torch on the CPU: first the dimensions
that are not transformed, by decreasing stride, then the transformed ones. The onesided transform of
real numbers leaves out the half that is redundant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.factory import new_meta
from anyshape.rules.pointwise import like
from anyshape.rules.shared.operand import dim_of, dims_of, is_tensor, meta_of
from anyshape.rules.shared.promote import complex_of, floating, real_of
from anyshape.rules.subview import is_dense, sliced
from anyshape.tensor.layout import CONTIGUOUS, Layout, strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import ask, expect, larger, plain, text

if TYPE_CHECKING:
    import torch


def _by_decreasing_stride(meta: Meta, dims: tuple[int, ...]) -> list[int]:
    """Dimensions by decreasing stride; the order of equal strides is kept."""
    layout = meta.layout.found()
    if layout.dense:
        order = layout.order or range(len(meta.shape))
        return [d for d in order if d in dims]
    strides = strides_of(meta)
    found: list[int] = []
    for d in dims:
        place = len(found)
        while place and ask(strides[d] > strides[found[place - 1]], False):
            place -= 1
        found.insert(place, d)
    return found


def _transformed(
    meta: Meta,
    shape: tuple[Any, ...],
    dtype: torch.dtype,
    sorted_dims: tuple[int, ...],
    last: tuple[int, ...] = (),
) -> Meta:
    """The result of one pass: over dimensions by decreasing stride, then over `last`."""
    dims = (*sorted_dims, *last)
    batch = tuple([d for d in range(len(shape)) if d not in dims])

    def find() -> Layout:
        return Layout(
            order=(
                *_by_decreasing_stride(meta, batch),
                *_by_decreasing_stride(meta, sorted_dims),
                *last,
            )
        )

    return Meta(shape, dtype, find() if meta.layout.dense else Layout(make=find))


def _to_complex(meta: Meta, dims: tuple[int, ...]) -> Meta:
    """From complex to complex."""
    if not dims:
        return Meta(meta.shape, meta.dtype, meta.layout)
    return _transformed(meta, meta.shape, complex_of(meta.dtype), dims)


def _to_onesided(meta: Meta, dims: tuple[int, ...]) -> Meta:
    """From real to onesided complex."""
    last = dims[-1]
    n = plain(meta.shape[last] // 2 + 1)
    shape = (*meta.shape[:last], n, *meta.shape[last + 1 :])
    return _transformed(meta, shape, complex_of(meta.dtype), dims[:-1], (last,))


def _to_real(meta: Meta, dims: tuple[int, ...], n: Any) -> Meta:
    """From onesided complex to real."""
    if len(dims) > 1:
        meta = _to_complex(meta, dims[:-1])
    last = dims[-1]
    shape = (*meta.shape[:last], n, *meta.shape[last + 1 :])
    return _transformed(meta, shape, real_of(meta.dtype), (), (last,))


def _resized(meta: Meta, dims: tuple[int, ...], sizes: tuple[Any, ...]) -> Meta:
    """Truncated or padded with zeros to given sizes; None keeps the size.

    Padding makes a contiguous copy.
    """
    changed = [
        (d, n) for d, n in zip(dims, sizes, strict=True) if n is not None and n is not meta.shape[d]
    ]
    if not changed:
        return meta
    shape = list(meta.shape)
    cut = meta
    for d, n in changed:
        shape[d] = n
        cut = sliced(cut, d, 0, n)
    if is_dense(meta):
        return Meta(tuple(shape), meta.dtype)

    def find() -> Layout:
        if any(ask(n > meta.shape[d], False) for d, n in changed):
            return CONTIGUOUS
        for d, n in changed:
            expect(
                n <= meta.shape[d],
                lambda: (
                    f"the strides of a transform of {text(meta.shape)} depend on whether it is"
                    f" padded to {text(shape)}"
                ),
            )
        return cut.layout

    return Meta(tuple(shape), meta.dtype, Layout(make=find))


def _points(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers of points; None for -1 and None, which keep the size."""
    found: list[Any] = []
    for n in map(plain, sizes):
        if n is None or (type(n) is int and n == -1):
            found.append(None)
            continue
        expect(n >= 1, lambda: f"Invalid number of data points ({text(sizes)}) specified")
        found.append(n)
    return tuple(found)


def _need_points(meta: Meta, dims: tuple[int, ...]) -> None:
    for d in dims:
        expect(
            meta.shape[d] >= 1,
            lambda: f"Invalid number of data points in a transform of {text(meta.shape)}",
        )


def _operand(x: Any, *, real: bool = False) -> Meta:
    meta = meta_of(x)
    dtype = floating(meta.dtype)
    if real:
        if dtype.is_complex:
            raise ShapeError(f"the transform takes a real input tensor, got {dtype}")
    else:
        dtype = complex_of(dtype)
    return meta if dtype is meta.dtype else like(x, dtype)


def _dims(meta: Meta, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The dimensions to transform and the numbers of points."""
    rank = len(meta.shape)
    if s is not None and not isinstance(s, tuple | list):
        s = (s,)
    if dim is None:
        dims = tuple(range(rank - len(s), rank)) if s is not None else tuple(range(rank))
    else:
        dims = dims_of(dim, rank)
    if s is None:
        return dims, (None,) * len(dims)
    if len(s) != len(dims):
        raise ShapeError("fft: the numbers of sizes and of dimensions differ")
    if dims and dims[0] < 0:
        raise ShapeError("fft: more sizes than dimensions")
    return dims, _points(tuple(s))


def _complex(meta: Meta, dims: tuple[int, ...], sizes: tuple[Any, ...]) -> Meta:
    found = _resized(meta, dims, sizes)
    _need_points(found, dims)
    return _to_complex(found, dims)


def _onesided(meta: Meta, dims: tuple[int, ...], sizes: tuple[Any, ...]) -> Meta:
    found = _resized(meta, dims, sizes)
    _need_points(found, dims)
    return _to_onesided(found, dims)


def _hermitian(meta: Meta, dims: tuple[int, ...], sizes: tuple[Any, ...]) -> Meta:
    if not dims:
        raise ShapeError("fft: at least one dimension is needed")
    n = sizes[-1]
    if n is None:
        n = plain(2 * (meta.shape[dims[-1]] - 1))
        expect(n >= 1, lambda: f"Invalid number of data points ({text(n)}) specified")
    else:
        sizes = (*sizes[:-1], plain(n // 2 + 1))
    found = _resized(meta, dims, sizes)
    _need_points(found, dims[:-1])
    return _to_real(found, dims, n)


# ---------------------------------------------------------------------- one dimension


@rule("fft_fft", "fft_ifft")
def fft(x: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Any:
    """A transform along one dimension."""
    meta = meta_of(x)
    dims = (dim_of(dim, len(meta.shape)),)
    if not meta.dtype.is_complex:  # both sides of a transform of real numbers
        meta = _operand(x, real=True)
        found = _resized(meta, dims, _points((n,)))
        _need_points(found, dims)
        return _transformed(found, found.shape, complex_of(meta.dtype), (), dims)
    return _complex(meta, dims, _points((n,)))


@rule("fft_rfft", "fft_ihfft")
def rfft(x: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Any:
    """The onesided transform of real numbers."""
    meta = _operand(x, real=True)
    return _onesided(meta, (dim_of(dim, len(meta.shape)),), _points((n,)))


@rule("fft_irfft", "fft_hfft")
def irfft(x: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Any:
    """Real numbers from a onesided transform."""
    meta = _operand(x)
    return _hermitian(meta, (dim_of(dim, len(meta.shape)),), _points((n,)))


# ---------------------------------------------------------------------- several dimensions


@rule("fft_fftn", "fft_ifftn")
def fftn(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """A transform along several dimensions."""
    meta = _operand(x)
    return _complex(meta, *_dims(meta, s, dim))


@rule("fft_fft2", "fft_ifft2")
def fft2(x: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """The same along two dimensions."""
    return fftn(x, s, dim)


@rule("fft_rfftn")
def rfftn(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The onesided transform of real numbers."""
    meta = _operand(x, real=True)
    dims, sizes = _dims(meta, s, dim)
    if not dims:
        raise ShapeError("rfftn must transform at least one axis")
    return _onesided(meta, dims, sizes)


@rule("fft_rfft2")
def rfft2(x: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """The same along two dimensions."""
    return rfftn(x, s, dim)


@rule("fft_irfftn", "fft_hfftn")
def irfftn(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """Real numbers from a onesided transform."""
    meta = _operand(x)
    return _hermitian(meta, *_dims(meta, s, dim))


@rule("fft_irfft2", "fft_hfft2")
def irfft2(x: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """The same along two dimensions."""
    return irfftn(x, s, dim)


@rule("fft_ihfftn")
def ihfftn(x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The onesided transform along the last dimension, then along the others."""
    meta = _operand(x, real=True)
    dims, sizes = _dims(meta, s, dim)
    if not dims:
        raise ShapeError("ihfftn must transform at least one axis")
    found = _resized(meta, dims, sizes)
    _need_points(found, dims)
    return _to_complex(_to_onesided(found, dims[-1:]), dims[:-1])


@rule("fft_ihfft2")
def ihfft2(x: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Any:
    """The same along two dimensions."""
    return ihfftn(x, s, dim)


# ---------------------------------------------------------------------- shifts, frequencies


@rule("fft_fftshift", "fft_ifftshift")
def fftshift(x: Any, dim: Any = None) -> Any:
    """The elements shifted by half the size of their dimension."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype)


@rule("fft_fftfreq")
def fftfreq(
    n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """The frequencies of a transform."""
    return new_meta((n,), dtype, device, requires_grad)


@rule("fft_rfftfreq")
def rfftfreq(
    n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """The frequencies of a onesided transform."""
    return new_meta((plain(n // 2 + 1),), dtype, device, requires_grad)


@rule("istft")
def istft(  # noqa: PLR0913, PLR0917  the signature is torch's
    x: Any, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: Any = None, length: Any = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signal of a short-time Fourier transform."""
    meta = meta_of(x)
    if not meta.dtype.is_complex:
        raise ShapeError("istft requires a complex-valued input tensor")
    if len(meta.shape) not in (2, 3):
        raise ShapeError(f"istft: expected 2 or 3 dimensions, got {text(meta.shape)}")
    hop = n_fft // 4 if hop_length is None else hop_length
    whole = n_fft + hop * (meta.shape[-1] - 1)
    start = n_fft // 2 if center else 0
    if length is not None:
        size = plain(length)
    else:
        size = larger(plain(whole - 2 * start), 0) if center else plain(whole)
    complex_window = is_tensor(window) and meta_of(window).dtype.is_complex
    dtype = meta.dtype if return_complex or complex_window else real_of(meta.dtype)
    return Meta((*meta.shape[:-2], size), dtype)
