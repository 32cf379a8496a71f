"""Questions about a tensor that are answered while tracing."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import DimError
from anyshape.rules.operand import dim_of, meta_of, shape_of
from anyshape.rules.result import Done
from anyshape.rules.table import rule
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.layout import contiguity
from anyshape.tensor.shown import expect_contiguity
from anyshape.tensor.size import equal, known, plain, product
from anyshape.tensor.sym_tensor import size_of


@rule("is_contiguous")
def is_contiguous_(x: Any, memory_format: Any = torch.contiguous_format) -> Any:
    """Whether the elements lie in order; the general answer where only the run can tell."""
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
                tracer.deviate("is_contiguous", n <= 1, "answers for sizes of at least 2")
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


@rule("is_conj", "is_neg", "is_inference", "_is_zerotensor", "_is_view", "is_shared", "is_pinned")
def never(x: Any, *_: Any) -> Any:
    """Not for a traced tensor."""
    return Done(False)
