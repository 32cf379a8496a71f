"""`t.data = value`: a tensor gets the memory, the shape and the dtype of another one.

Its identity, its history and whether it requires a gradient stay. From there on both tensors share
their memory; views of what the tensor was keep the old one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.env.site import capture as capture_site
from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor, alter
from anyshape.torch_compat.aten_op import DATA
from anyshape.trace.options import REPLAYED
from anyshape.trace.record.effect.effect import set_data

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


def assign_data(tracer: Tracer, t: Any, value: Any) -> None:
    """Assign the data of a traced or a real tensor, when the program runs too."""
    if not isinstance(value, torch.Tensor):
        raise _refusal("is assigned no tensor")
    is_traced = type(t) is SymTensor
    target = t._value if is_traced else tracer.lift(t)
    source = value._value if type(value) is SymTensor else tracer.lift(value)
    old = t._meta if is_traced else target.meta
    new = value._meta if type(value) is SymTensor else source.meta
    made = source.node
    if made is not None and made.func is DATA and made.args[0] is target:
        return  # what `t.data` gave, changed in place
    if tracer.options.effects != REPLAYED or tracer.bodies or tracer.whole or tracer.is_segmented:
        raise _refusal("is assigned")
    if target.root is not target or old.device != new.device:
        raise _refusal("of a view, or on another device, is assigned")
    if old.requires_grad and new.dtype is not old.dtype:
        raise _refusal("of a tensor that requires grad is assigned another dtype")
    if not is_traced and not _is_alike(old, new):
        raise _refusal("of a tensor from outside is assigned another shape")
    tracer.touch(t)
    tracer.emit(set_data, (t, value))
    target.root = source.root
    tracer.touch(t)
    target.version = tracer.epoch
    tracer.outer_version = tracer.epoch
    if is_traced:
        alter(t, Meta(new.shape, new.dtype, new.layout, new.device, old.requires_grad))


def _is_alike(a: Meta, b: Meta) -> bool:
    """Whether two tensors are surely alike, but for their data."""
    is_static = all(type(n) is int for n in (*a.shape, *b.shape))
    return is_static and a.shape == b.shape and a.dtype is b.dtype and a.layout == b.layout


def _refusal(what: str) -> UnsupportedError:
    site = capture_site()
    return refused(
        UnsupportedError,
        f".data of a traced tensor {what}" + (f" at {site}" if site else ""),
        fix="use copy_ or set the attribute outside the traced function",
    )
