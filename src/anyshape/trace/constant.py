"""Which tensors from outside can be constants of a graph: plain memory with strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.tensor.wrapper import WrapperOperand
from anyshape.torch_compat.tensor_subclass import is_fake, is_wrapper
from anyshape.torch_compat.torch_function import is_plain
from anyshape.trace.options import REPLAYED

if TYPE_CHECKING:
    from anyshape.trace.options import TraceOptions


def need_plain_constant(tensor: torch.Tensor, options: TraceOptions) -> None:
    """Raise for a tensor that is not plain; to be called with torch functions disabled."""
    kind: Any = type(tensor)
    if kind is not torch.Tensor and torch.nn.parameter.is_lazy(tensor):
        raise refused(
            UnsupportedError,
            f"an uninitialized {kind.__name__}",
            fix="run the module once first",
        )
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        raise refused(UnsupportedError, f"a constant with layout {tensor.layout}")
    if is_plain(kind) or (is_fake(tensor) and options.effects != REPLAYED):
        return
    if is_wrapper(kind):
        raise WrapperOperand(kind)
    raise refused(UnsupportedError, f"a constant of class {kind.__name__}")
