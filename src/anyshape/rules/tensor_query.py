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
from anyshape.symbolic.sym_int import SymInt, specialize
from anyshape.tensor.current import current
from anyshape.tensor.layout import contiguity, is_certain, strides_of
from anyshape.tensor.observed import (
    dim_order_of,
    expect_contiguity,
    expect_dim_order,
    observed_offset,
    observed_strides,
)
from anyshape.tensor.size import ask, equal, known, plain, product
from anyshape.tensor.sym_tensor import SymTensor, make, size_of
from anyshape.torch_compat.torch_function import DisableTorchFunction


@rule("is_contiguous")
def is_contiguous_(x: Any, memory_format: Any = torch.contiguous_format) -> Any:
    """Whether the layout is contiguous; undecided sizes are taken to be at least 2.

    Sizes of 0 and 1 make a tensor contiguous: whether a size is one of these is asked before the
    answer is no.
    """
    meta = meta_of(x)
    order = {
        torch.channels_last: (0, 2, 3, 1),
        torch.channels_last_3d: (0, 2, 3, 4, 1),
    }.get(memory_format)
    tracer = current()
    tracer.asked_layout = True
    answer, certain = contiguity(meta, order)
    small = [n for n in meta.shape if type(n) is SymInt and not answer and ask(n <= 1, False)]
    if small:
        for size_ in small:
            specialize(size_)
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


@rule("_is_zerotensor")
def never(x: Any) -> Any:
    """False for a traced tensor."""
    return Done(False)


@rule("is_shared")
def is_shared(x: Any) -> Any:
    """Whether the memory is shared with other processes: that of the tensor that it is a view of,
    if it comes from outside; never that of a new one.
    """
    return Done(_of_memory(x, "is_shared"))


@rule("is_pinned")
def is_pinned(x: Any, device: Any = None) -> Any:
    """Whether the memory is pinned, likewise."""
    return Done(_of_memory(x, "is_pinned"))


def _of_memory(x: Any, name: str) -> bool:
    value = _value(x)
    if value.root.node is None:
        return bool(current().observations.of(current(), value.root, name))
    if _may_pin(value.root.node):
        raise _untracked(f"{name}() of a new tensor")
    return False


def _may_pin(node: Any) -> bool:
    """Whether a call may make memory that is pinned."""
    return bool(node.kwargs.get("pin_memory")) or getattr(node.func, "__name__", "") == "pin_memory"


@rule("is_conj")
def is_conj(x: Any) -> Any:
    """Whether a conjugation is pending: never for real numbers."""
    return Done(meta_of(x).dtype.is_complex and _pending(x, "is_conj"))


@rule("is_neg")
def is_neg(x: Any) -> Any:
    """Whether a negation is pending: only in the imaginary part of a conjugate, and its views."""
    return Done(_pending(x, "is_neg"))


def _pending(x: Any, name: str) -> bool:
    value = _value(x)
    if value.node is None:
        return bool(current().observations.of(current(), value, name))
    if value.root is not value or value.meta.dtype.is_complex:
        raise _untracked(f"{name}() of a view or of a complex tensor")
    return False


@rule("is_inference")
def is_inference(x: Any) -> Any:
    """Whether a tensor was made in inference mode; False if the program never enters it."""
    value, tracer = _value(x), current()
    if tracer.uses_inference:
        raise _untracked("is_inference() in a program that uses inference mode")
    made = value.root
    if made.node is not None:
        return Done(False)
    found = bool(tracer.observations.of(tracer, made, "is_inference"))
    if found and made is not value:
        raise _untracked("is_inference() of a view")
    return Done(found)


@rule("_is_view")
def is_view(x: Any) -> Any:
    """Whether a tensor is a view; for some ops only the run knows."""
    value = _value(x)
    if value.root is not value:
        raise _untracked("_is_view()")
    if value.node is not None:
        return Done(False)
    return Done(bool(current().observations.of(current(), value, "is a view")))


@rule("stride")
def stride(x: Any, dim: Any = None) -> Any:
    """The strides of a tensor from outside, or one of them."""
    strides = observed_strides(as_traced(x))
    return Done(strides if dim is None else strides[dim_of(dim, len(strides))])


@rule("dim_order")
def dim_order(x: Any, *, ambiguity_check: Any = False) -> Any:
    """The dimensions from the outermost to the innermost.

    The order of a dense tensor is checked when the program runs. That of a tensor with gaps, and
    whether an order is ambiguous, depend on numbers: where these are not known, the order is one of
    numbers that only the run knows.
    """
    meta, tracer = meta_of(x), current()
    layout = meta.layout.found()
    tracer.asked_layout = True
    if layout.dense and ambiguity_check is False:
        order = tuple(range(len(meta.shape))) if layout.order is None else layout.order
        tracer.emit(expect_dim_order, (x, order))
        return Done(order)
    strides = strides_of(meta)
    if is_certain(meta) and all(type(n) is int for n in (*meta.shape, *strides)):
        with DisableTorchFunction():
            like = torch.empty_strided(meta.shape, strides, device="meta")
            return Done(like.dim_order(ambiguity_check=ambiguity_check))
    count = len(meta.shape)
    args = (x, ambiguity_check)
    return Done(tuple(tracer.mint_list(dim_order_of, args, count, min=0, max=count - 1)))


@rule("storage_offset")
def storage_offset(x: Any) -> Any:
    """The offset of a tensor from outside in its storage."""
    return Done(observed_offset(as_traced(x)))


def as_traced(x: Any) -> SymTensor:
    """A tensor as a traced one: a real one as the constant that it is."""
    if type(x) is SymTensor:
        return x
    tracer = current()
    value = tracer.lift(x)
    return make(value.meta, value, tracer)


def _value(x: Any) -> Any:
    return as_traced(x)._value


def _untracked(what: str) -> UnsupportedError:
    site = capture()
    return refused(
        UnsupportedError,
        f"{what} is not tracked" + (f": asked at {site}" if site else ""),
        fix="do not let the program depend on it",
    )
