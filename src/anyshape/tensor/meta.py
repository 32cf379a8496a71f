"""`Meta`: everything about a tensor but its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.tensor.layout import CONTIGUOUS, Layout

if TYPE_CHECKING:
    import torch

    from anyshape.tensor.size import Size


class Meta:
    """Shape, dtype, device, layout and whether gradients flow.

    It changes only while it is made: the rule of an op fills it in, and the tracer completes what
    the rule left as None (`device`: that of the operands, `requires_grad`) when it records the
    result. From then on it never changes; an op that changes a tensor in place gives it a new one.

    `below` is a size that the elements of an integer tensor are below, where the op implies one.
    Later changes of the elements are not seen here, but in `rules/shared/index_bound.py`.
    """

    __slots__ = ("below", "device", "dtype", "layout", "requires_grad", "shape")

    def __init__(
        self,
        shape: tuple[Size, ...],
        dtype: torch.dtype,
        layout: Layout = CONTIGUOUS,
        device: torch.device | None = None,
        requires_grad: bool | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.layout = layout
        self.device = device
        self.requires_grad = requires_grad
        self.below: Size | None = None

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        return f"{str(self.dtype).removeprefix('torch.')}[{sizes}]"


def meta_of_real(tensor: torch.Tensor) -> Meta:
    """What is known of a real tensor; to be called with torch functions disabled."""
    shape = tuple(tensor.shape)
    if tensor.is_contiguous():
        layout = CONTIGUOUS
        if tensor.storage_offset():
            layout = Layout(offset=int(tensor.storage_offset()))
    else:
        layout = Layout(strides=tuple(tensor.stride()), offset=int(tensor.storage_offset()))
    return Meta(shape, tensor.dtype, layout, tensor.device, tensor.requires_grad)
