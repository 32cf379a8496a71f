"""Ops that change the shape of a tensor in place."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import ShapeError, UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.cast import formatted
from anyshape.rules.dispatch.result import Done
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import meta_of, shape_of, sizes_of
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import equal, expect_size, plain
from anyshape.tensor.sym_tensor import SymTensor, alter


@rule("resize_")
def resize_(x: Any, *sizes: Any, memory_format: Any = None) -> Any:
    """Resize in place; the strides are kept if the sizes are."""
    shape = tuple([plain(n) for n in sizes_of(sizes)])
    for n in shape:
        expect_size(n, "a size of resize_")
    return _resize(x, shape, memory_format, torch.Tensor.resize_, (shape,))


@rule("resize_as_")
def resize_as_(x: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    """Resize in place to the sizes of another tensor."""
    shape = shape_of(the_template)
    return _resize(x, shape, memory_format, torch.Tensor.resize_as_, (the_template,))


def _resize(
    x: Any, shape: tuple[Any, ...], memory_format: Any, func: Any, args: tuple[Any, ...]
) -> Done:
    meta = meta_of(x)
    if type(x) is not SymTensor:
        raise refused(
            UnsupportedError,
            f"{func.__name__} changes the shape of a tensor from outside the traced function",
        )
    if meta.requires_grad:
        raise ShapeError(f"{func.__name__}: cannot resize variables that require grad")
    kwargs = {} if memory_format is None else {"memory_format": memory_format}
    current().mutate(func, (x, *args), kwargs, x)
    same = len(shape) == len(meta.shape) and all(map(equal, shape, meta.shape))
    if not same or memory_format not in (None, torch.preserve_format):
        meta = formatted(Meta(shape, meta.dtype, device=meta.device), memory_format)
        meta.requires_grad = False
        alter(x, meta)
    return Done(x)
