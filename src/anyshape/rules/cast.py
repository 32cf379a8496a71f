"""Casts to other dtypes, devices and memory formats, and copies."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.as_number import CLASSES
from anyshape.rules.dispatch.result import Done
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.shared.operand import is_tensor, meta_of
from anyshape.rules.subview import is_dense
from anyshape.tensor.current import current
from anyshape.tensor.layout import (
    CHANNELS_LAST_2D,
    CHANNELS_LAST_3D,
    CONTIGUOUS,
    Layout,
    contiguity,
    is_contiguous,
    offset_of,
)
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor, alter
from anyshape.torch_compat.torch_function import DisableTorchFunction


def _cast(x: Any, dtype: torch.dtype, memory_format: Any = None) -> Any:
    """A cast; the tensor itself where nothing changes. If that depends on the layout, the call is
    recorded, and `tensor/identity.py` tells whether its result is the tensor itself.
    """
    meta = meta_of(x)
    keeps = memory_format in (None, torch.preserve_format)
    if memory_format is torch.contiguous_format:
        keeps = len(meta.shape) not in (4, 5)  # only of these ranks are there other formats
    if dtype is meta.dtype and keeps:
        return Done(x)
    if dtype is meta.dtype and memory_format is format_of(meta):
        return Meta(meta.shape, dtype, meta.layout, meta.device)
    result = like(x, dtype)
    return formatted(result, memory_format)


def format_of(meta: Meta) -> torch.memory_format:
    """The memory format that torch infers from the strides of a tensor."""
    rank = len(meta.shape)
    if rank == 4 and not is_dense(meta) and is_contiguous(meta, CHANNELS_LAST_2D):
        return torch.channels_last
    if rank == 5 and not is_dense(meta) and is_contiguous(meta, CHANNELS_LAST_3D):
        return torch.channels_last_3d
    return torch.contiguous_format


def formatted(meta: Meta, memory_format: Any) -> Meta:
    """Set the layout to that of a memory format; None and preserve_format change nothing."""
    if memory_format is not None and memory_format is not torch.preserve_format:
        meta.layout = format_layout(memory_format)
    return meta


def format_layout(memory_format: torch.memory_format) -> Layout:
    """The dense layout of a memory format."""
    if memory_format is torch.channels_last:
        return Layout(order=CHANNELS_LAST_2D)
    return Layout(order=CHANNELS_LAST_3D) if memory_format is torch.channels_last_3d else CONTIGUOUS


for _name in (
    "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool",
    "cfloat", "cdouble", "chalf",
):  # fmt: skip
    _dtype = getattr(torch, {"char": "int8", "byte": "uint8"}.get(_name, _name))

    def _named(x: Any, memory_format: Any = None, *, _dtype: torch.dtype = _dtype) -> Any:
        return _cast(x, _dtype, memory_format)

    rule(_name, view=True)(_named)


@rule("to", view=True)
def to(  # noqa: PLR0913  torch's signature
    x: Any,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
    other: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Any:
    """Another dtype, device or memory format; the tensor itself where it has them already."""
    if layout not in (None, torch.strided):
        return NotImplemented
    copy = copy or [a for a in args if type(a) is bool][1:2] == [True]
    for a in (*args, other):
        if isinstance(a, torch.dtype) or (isinstance(a, type) and a in CLASSES):
            dtype = a
        elif isinstance(a, torch.device | str) or (type(a) is int):
            device = a
        elif is_tensor(a):
            dtype, device = meta_of(a).dtype, meta_of(a).device
    meta = meta_of(x)
    where = meta.device
    if device is not None:
        with DisableTorchFunction():
            where = torch.device(device)
    dtype = CLASSES.get(dtype, dtype) if isinstance(dtype, type) else dtype
    result = _cast(x, dtype or meta.dtype, memory_format)
    if type(result) is Done:
        if where == meta.device and not copy:
            return result
        result = Meta(meta.shape, meta.dtype, meta.layout if not copy else like(x).layout)
    result.device = where
    return result


@rule("type")
def type_(x: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """A cast; without a dtype, the name of the tensor's type."""
    if isinstance(dtype, torch.dtype):
        return _cast(x, dtype)
    meta = meta_of(x)
    with DisableTorchFunction():
        if dtype is None:
            return Done(torch.empty(0, dtype=meta.dtype, device=meta.device).type())
        return _cast(x, torch.empty(0).type(dtype).dtype)


@rule("type_as")
def type_as(x: Any, other: Any) -> Any:
    """A cast to the dtype of another tensor."""
    return _cast(x, meta_of(other).dtype)


@rule("cpu", view=True)
def cpu(x: Any, memory_format: Any = None) -> Any:
    """A copy on the CPU, or the tensor itself."""
    return to(x, device=torch.device("cpu"), memory_format=memory_format)


@rule("clone")
def clone(x: Any, *, memory_format: Any = None) -> Any:
    """A copy."""
    return formatted(like(x), memory_format)


@rule("contiguous", view=True)
def contiguous(x: Any, memory_format: Any = torch.contiguous_format) -> Any:
    """The tensor itself where it is dense, else a dense copy."""
    meta = meta_of(x)
    if meta.layout.dense and meta.layout.order is None and memory_format is torch.contiguous_format:
        return Meta(meta.shape, meta.dtype, meta.layout)
    result = formatted(Meta(meta.shape, meta.dtype), memory_format)
    result.layout = _dense_or_copied(meta, result.layout.order)
    return result


def _dense_or_copied(meta: Meta, order: tuple[int, ...] | None) -> Layout:
    """The dense layout in this order: of the tensor itself if that has it, else of a copy.

    The strides are the same; only the offset depends on which of the two it is.
    """

    def offset() -> Any:
        same, is_sure = contiguity(meta, order)
        if not is_sure:
            layout.uncertain = True
        return offset_of(meta) if same else 0

    layout = Layout(order=order, offset=offset)
    return layout


@rule("detach", view=True)
def detach(x: Any) -> Any:
    """The same memory without gradients."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype, meta.layout, meta.device, requires_grad=False)


@rule("data", view=True)
def data(x: Any) -> Any:
    """What `x.data` gives: as `detach`, with a version of its own, so that autograd does not notice
    when it is changed in place.
    """
    return detach(x)


@rule("requires_grad_")
def requires_grad_(x: Any, requires_grad: bool = True) -> Any:
    """Set `requires_grad` for the rest of the trace, and when the program runs."""
    tracer = current()
    meta = meta_of(x)
    if type(x) is not SymTensor:
        if meta.requires_grad is not requires_grad:
            raise refused(UnsupportedError, "requires_grad_() of a tensor from outside")
        tracer.asked_grad = True
        return Done(x)
    tracer.emit(torch.Tensor.requires_grad_, (x, requires_grad))
    if not meta.requires_grad:
        x._leaf = True
        tracer.note_leaf(x)
    if meta.requires_grad is not requires_grad:
        alter(x, Meta(meta.shape, meta.dtype, meta.layout, meta.device, requires_grad))
    tracer.note(x._meta)
    return Done(x)


@rule("resolve_conj", view=True)
def resolve_conj(x: Any) -> Any:
    """The tensor without pending conjugation; itself where it is real."""
    if not meta_of(x).dtype.is_complex:
        return Done(x)
    return Meta(meta_of(x).shape, meta_of(x).dtype, meta_of(x).layout)


@rule("resolve_neg", view=True)
def resolve_neg(x: Any) -> Any:
    """The tensor without pending negation; itself where none can be pending."""
    value = x._value if type(x) is SymTensor else current().lift(x)
    if value.root is value and value.node is not None and not meta_of(x).dtype.is_complex:
        return Done(x)
    return Meta(meta_of(x).shape, meta_of(x).dtype, meta_of(x).layout)


@rule("conj", view=True)
def conj(x: Any) -> Any:
    """A lazy conjugate: the same memory; the tensor itself where it is real."""
    if not meta_of(x).dtype.is_complex:
        return Done(x)
    return Meta(meta_of(x).shape, meta_of(x).dtype, meta_of(x).layout)
