"""The error of eager execution in place of one that a rule raised.

A rule knows that operands do not fit, and not always which class of error eager execution raises
then. Where the program may handle it, the call is repeated on tensors of zeros at the sizes of the
trace, which are guarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import is_own
from anyshape.symbolic.functions import hint
from anyshape.symbolic.numpy_scalar import value_of
from anyshape.tensor.layout import strides_of
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat.pytree import tree_flatten, tree_unflatten
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace.graph.graph import SYMBOLIC
from anyshape.trace.state.snapshot import Snapshot

if TYPE_CHECKING:
    from types import TracebackType

_MOST: Final = 1 << 22  # elements
_CALL: Final = ("tracer", "func", "args", "kwargs")  # the variables of what handles a call
_PARTIAL: Final = (("self",), ("t",))  # frames whose arguments may lack the first operand


class _Unknown(Exception):
    """A size that only the run knows, or that is too large to try."""


def call_of(error: BaseException) -> tuple[Any, Any, Any] | None:
    """The call of torch whose rule raised an error: function, arguments and keywords.

    None for an error that code outside this package raised, or that no rule was asked for.
    """
    tb: TracebackType | None = error.__traceback__
    call: tuple[Any, Any, Any] | None = None
    while tb is not None:
        frame = tb.tb_frame
        if not is_own(frame.f_code.co_filename):
            call = None
        elif call is None and frame.f_code.co_varnames[:1] not in _PARTIAL:
            found = frame.f_locals
            if all(name in found for name in _CALL):
                call = found["func"], found["args"], found["kwargs"]
        tb = tb.tb_next
    return call


def eager_class(func: Any, args: Any, kwargs: Any) -> type[BaseException] | None:
    """The class of the error that a call raises eagerly at the sizes of the trace.

    None if it raises none, or if a size is not known. The sizes become guards.
    """
    leaves, spec = tree_flatten((args, kwargs))
    before = Snapshot()
    try:
        plain, named = tree_unflatten([_stand_in(x) for x in leaves], spec)
        with DisableTorchFunction():
            func(*plain, **named)
    except _Unknown:
        return None
    except Exception as e:
        for x in leaves:
            _pin(x)
        return type(e)
    finally:
        before.restore()
    return None


def _stand_in(x: Any) -> Any:
    """An argument of the same size, with zeros."""
    kind = type(x)
    if kind is SymTensor:
        meta = x._meta
        sizes = [_known(n) for n in meta.shape]
        strides = [_known(n) for n in strides_of(meta)]
        return _zeros(sizes, strides, meta.dtype, meta.device)
    if isinstance(x, torch.Tensor):
        return _zeros(x.shape, x.stride(), x.dtype, x.device)
    if kind is slice:
        return slice(*map(_stand_in, (x.start, x.stop, x.step)))
    if kind is SymSize:
        return torch.Size([_known(n) for n in x])
    return _known(x) if kind in SYMBOLIC else x


def _zeros(sizes: Any, strides: Any, dtype: Any, device: Any) -> torch.Tensor:
    if sum((n - 1) * stride for n, stride in zip(sizes, strides, strict=True)) > _MOST:
        raise _Unknown
    with DisableTorchFunction():
        return torch.empty_strided(sizes, strides, dtype=dtype, device=device).zero_()


def _known(n: Any) -> Any:
    value = hint(n)
    if value is None or type(value) in SYMBOLIC:
        raise _Unknown
    return value


def _pin(x: Any) -> None:
    """Guard the numbers in an argument."""
    kind = type(x)
    if kind is SymTensor or kind is SymSize:
        for n in x._meta.shape if kind is SymTensor else x:
            _pin(n)
    elif kind is slice:
        for n in (x.start, x.stop, x.step):
            _pin(n)
    elif kind in SYMBOLIC:
        value_of(x)
