"""Properties of a tensor that are known while tracing."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.env.site import capture
from anyshape.errors import DimError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Done
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import dim_of, meta_of, shape_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import contiguity
from anyshape.tensor.observed import expect_contiguity
from anyshape.tensor.size import equal, known, plain, product
from anyshape.tensor.sym_tensor import SymTensor, size_of


@rule("is_contiguous")
def is_contiguous_(x: Any, memory_format: Any = torch.contiguous_format) -> Any:
    """Whether the layout is contiguous; undecided sizes are taken to be at least 2."""
    meta = meta_of(x)
    order = {
        torch.channels_last: (0, 2, 3, 1),
        torch.channels_last_3d: (0, 2, 3, 4, 1),
    }.get(memory_format)
    tracer = current()
    tracer.asked_layout = True
    answer, certain = contiguity(meta, order)
    if not certain:
        tracer.emit(expect_contiguity, (x, memory_format, answer))
    if not answer:
        for n in meta.shape:
            if type(n) is SymInt and known(n <= 1) is None:
                tracer.deviate("is_contiguous", n <= 1, "answers as for sizes of at least 2")
    return Done(answer)


@rule("is_same_size")
def is_same_size(x: Any, other: Any) -> Any:
    """Whether two shapes are equal."""
    a, b = shape_of(x), shape_of(other)
    return Done(len(a) == len(b) and all(map(equal, a, b)))


@rule("size")
def size(x: Any, dim: Any = None) -> Any:
    """The shape, or one size."""
    shape = shape_of(x)
    if dim is None:
        return Done(size_of(shape))
    if not shape:
        raise DimError("dimension specified but tensor has no dimensions")
    return Done(shape[dim_of(dim, len(shape))])


@rule("numel")
def numel(x: Any) -> Any:
    """The number of elements."""
    return Done(plain(product(shape_of(x))))


@rule("is_floating_point")
def is_floating_point(x: Any) -> Any:
    """Whether the dtype is floating."""
    return Done(meta_of(x).dtype.is_floating_point)


@rule("is_complex")
def is_complex(x: Any) -> Any:
    """Whether the dtype is complex."""
    return Done(meta_of(x).dtype.is_complex)


@rule("dim", "ndimension")
def dim(x: Any) -> Any:
    """The number of dimensions."""
    return Done(len(shape_of(x)))


@rule("_is_zerotensor", "is_shared", "is_pinned")
def never(x: Any, device: Any = None) -> Any:
    """False for a traced tensor."""
    return Done(False)


@rule("is_conj", "is_neg")
def is_conj(x: Any) -> Any:
    """Whether a conjugation or negation is pending: never for real numbers."""
    if meta_of(x).dtype.is_complex:
        raise _untracked("whether a conjugation of a complex tensor is pending")
    return Done(False)


@rule("is_inference")
def is_inference(x: Any) -> Any:
    """Whether a tensor was made in inference mode; False if the program never enters it."""
    if current().uses_inference:
        raise _untracked("is_inference() in a program that uses inference mode")
    return Done(False)


@rule("_is_view")
def is_view(x: Any) -> Any:
    """Whether a tensor is a view; for some ops only the run knows."""
    value = x._value if type(x) is SymTensor else current().lift(x)
    if value.node is None or value.root is not value:
        raise _untracked("_is_view()")
    return Done(False)


def _untracked(what: str) -> UnsupportedError:
    site = capture()
    return refused(
        UnsupportedError,
        f"{what} is not tracked" + (f": asked at {site}" if site else ""),
        fix="do not let the program depend on it",
    )
