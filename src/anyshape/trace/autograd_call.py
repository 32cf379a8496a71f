"""Calls about the autograd graph, as calls of the program.

A program that runs as generated Python builds the autograd graph that eager execution builds, so a
hook that it registers is called with the same gradients. Torch's compilers rebuild that graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import ShapeError
from anyshape.rules.shared.operand import meta_of
from anyshape.trace.autograd_function import need_seen
from anyshape.trace.record.autograd_effect import retain_grad
from anyshape.trace.record.handle import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.tensor.sym_tensor import SymTensor
    from anyshape.trace.tracer import Tracer


def autograd_call(tracer: Tracer, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Record a call about the autograd graph; `NotImplemented` where programs cannot have it."""
    recorder = tracer.recorder
    if not tracer.options.keeps_autograd or recorder is None or not recorder.replays:
        return NotImplemented
    if tracer.bodies:
        return NotImplemented
    return _CALLS[func](tracer, func, *args, **kwargs)


def _need_grad(tracer: Tracer, t: Any, what: str) -> None:
    tracer.asked_grad = True
    if not meta_of(t).requires_grad:
        raise ShapeError(f"{what} of a tensor that does not require gradients")


def _hook(tracer: Tracer, func: Any, t: Any, hook: Any) -> Any:
    _need_grad(tracer, t, func.__name__)
    return Handle(tracer.recorder, t, func.__name__, hook)


def _retain(tracer: Tracer, _: Any, t: Any) -> None:
    _need_grad(tracer, t, "retain_grad")
    tracer.emit(retain_grad, (t,))
    tracer.recorder.effects += 1


def view_without_grad(result: SymTensor, of: Any) -> None:
    """A view that is made while gradients are off requires them if its base does, as a leaf."""
    meta = result._meta
    if (
        torch.is_grad_enabled()
        or result._value.node.func in _DETACH
        or not (meta.dtype.is_floating_point or meta.dtype.is_complex)
    ):
        return
    if meta_of(of).requires_grad and not torch.is_inference_mode_enabled():
        need_seen()
        meta.requires_grad = result._leaf = True
        result._tracer.note(meta)


_DETACH: Final = (torch.Tensor.detach, torch.detach)
_CALLS: Final[dict[Any, Callable[..., Any]]] = {
    torch.Tensor.register_hook: _hook,
    torch.Tensor.register_post_accumulate_grad_hook: _hook,
    torch.Tensor.retain_grad: _retain,
}
