"""Recording a function of the user's as one call: its shapes come from running it symbolically."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Many
from anyshape.tensor.current import current
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat import pytree
from anyshape.torch_compat.call_frame import APPLY
from anyshape.torch_compat.torch_function import DisableTorchFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.tracer import Tracer


def recorded_apply(method: Any) -> Callable[..., Any] | None:
    """What to call instead of the `apply` of an `autograd.Function` while a trace runs; None for
    any other function. `method` may have been bound before the trace.
    """
    if getattr(method, "__func__", None) is not APPLY:
        return None
    return lambda *args, **kwargs: apply(current(), method, args, kwargs)


def apply(tracer: Tracer, method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply an `autograd.Function`: as one call where gradients flow through it, because the calls
    of its forward would be recorded without its backward.
    """
    if not torch.is_grad_enabled() or not gradients_flow((args, kwargs)):
        return method(*args, **kwargs)
    tracer.whole += 1
    try:
        return record_whole(tracer, method, args, kwargs)
    finally:
        tracer.whole -= 1


def gradients_flow(arguments: Any) -> bool:
    """Whether a tensor among the arguments of a call requires gradients."""
    current().asked_grad = True
    tensors = [x for x in pytree.tree_leaves(arguments) if isinstance(x, torch.Tensor)]
    with DisableTorchFunction():
        return any(
            x._meta.requires_grad if type(x) is SymTensor else x.requires_grad for x in tensors
        )


def need_backward(tracer: Tracer) -> None:
    """Raise if a forward runs whose `apply` the tracer did not see. To be called when gradients are
    switched off, as `apply` does.
    """
    frame = None if tracer.whole else sys._getframe(1)
    while frame is not None:
        if frame.f_code is APPLY.__code__ and gradients_flow(frame.f_locals["args"]):
            name = frame.f_locals["cls"].__name__
            raise refused(
                UnsupportedError,
                f"{name}.apply is called under another name, unseen by the tracer",
                why="the calls of its forward would be recorded without its backward",
                fix=f"write {name}.apply(...) where it is called",
            )
        frame = frame.f_back


def record_whole(tracer: Tracer, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record `call(*args, **kwargs)` as one node; refuse what its ops do besides giving results."""
    given = {id(x) for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, SymTensor)}
    epoch = tracer.epoch
    with tracer.unrecorded():
        result = call(*args, **kwargs)
    flat, spec = pytree.tree_flatten(result)
    tensors = [x for x in flat if type(x) is SymTensor]
    name = getattr(getattr(call, "__self__", call), "__name__", "a function")
    if tracer.epoch != epoch or any(id(t) in given for t in tensors):
        raise refused(
            UnsupportedError,
            f"{name}.apply changes or returns one of its inputs while gradients are recorded",
            fix="return a new tensor, as in x.clone(), or trace under torch.no_grad()",
        )
    if len(tensors) != len(flat) or not tensors:
        raise refused(UnsupportedError, f"{name}.apply returns something besides tensors")
    if any(t._value.root is not t._value for t in tensors):
        raise refused(UnsupportedError, f"{name}.apply returns a view while gradients are recorded")
    metas = [Meta(t._meta.shape, t._meta.dtype, t._meta.layout, t._meta.device) for t in tensors]
    if spec.is_leaf():
        return tracer.record(call, args, kwargs, metas[0])
    return tracer.record(
        call, args, kwargs, Many(metas, lambda made: pytree.tree_unflatten(made, spec))
    )
