"""Calls about the autograd graph, as calls of the program.

A program that runs as generated Python builds the autograd graph that eager execution builds, so a
hook that it registers is called with the same gradients. Torch's compilers rebuild that graph: a
gradient by a tensor inside a compiled part does not exist, so a program that asks for gradients is
never given to them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package
from anyshape.errors import ShapeError
from anyshape.rules.dispatch.result import Many
from anyshape.rules.shared.operand import meta_of
from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.torch_compat.aten_op import DATA, is_op, qualified_name
from anyshape.torch_compat.call_frame import APPLY
from anyshape.trace.autograd.autograd_function import need_seen
from anyshape.trace.autograd.backward import backward, note_leaf
from anyshape.trace.mode.execution_modes import set_saved_hooks
from anyshape.trace.record.effect.autograd_effect import HOOKING, gradients, retain_grad
from anyshape.trace.record.effect.handle import Handle

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.tensor.sym_tensor import SymTensor
    from anyshape.trace.tracer import Tracer


def autograd_call(tracer: Tracer, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Record a call about the autograd graph; `NotImplemented` where programs cannot have it."""
    recorder = tracer.recorder
    if recorder is None or not recorder.replays or tracer.bodies:
        return NotImplemented
    if func not in _COMPUTED and not tracer.options.keeps_autograd:
        return NotImplemented
    if func in _PASSES:
        return (
            NotImplemented if _runs_user_code(tracer) else backward(tracer, func, *args, **kwargs)
        )
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
    """A view that is made while gradients are off requires them if its base does, as a leaf.

    The operand itself, as `x.flatten()` gives of one dimension, is no view.
    """
    meta = result._meta
    if (
        torch.is_grad_enabled()
        or result is of
        or result._value.node is None
        or result._value.node.func in _DETACH
        or not (meta.dtype.is_floating_point or meta.dtype.is_complex)
    ):
        return
    if meta_of(of).requires_grad and not torch.is_inference_mode_enabled():
        need_seen()
        meta.requires_grad = result._leaf = True
        result._tracer.note(meta)
        note_leaf(result._tracer, result)


_DETACH: Final = (torch.Tensor.detach, torch.detach, DATA)


def _grad(tracer: Tracer, func: Any, *args: Any, **kwargs: Any) -> Any:
    """Gradients that are tensors, and constants for later calls.

    Which of them are None, or require gradients themselves, is not known from shapes.
    """
    asked = inspect.signature(func).bind(*args, **kwargs)
    asked.apply_defaults()
    told = asked.arguments
    materialize = bool(told["materialize_grads"])
    unknown = told["create_graph"] or (told["allow_unused"] and not materialize)
    if unknown or told["is_grads_batched"] or _runs_user_code(tracer):
        return NotImplemented
    outs, ins, given = (_sequence(told[n]) for n in ("outputs", "inputs", "grad_outputs"))
    if not all(isinstance(t, torch.Tensor) for t in (*outs, *ins)):
        return NotImplemented
    tracer.asked_grad = True
    found = [meta_of(t) for t in ins]
    parts = [
        Meta(m.shape, m.dtype, unsure(CONTIGUOUS), m.device, requires_grad=False) for m in found
    ]
    operands = (outs, ins, given, told["retain_graph"], materialize)
    return tracer.record(gradients, operands, {}, Many(parts, tuple))


def _sequence(x: Any) -> Any:
    return x if x is None else tuple(x) if isinstance(x, tuple | list) else (x,)


def _has_bodies(func: Any) -> bool:
    return in_package(getattr(func, "__module__", None), f"{__package__}.higher_order")


def _runs_user_code(tracer: Tracer) -> bool:
    """Whether a backward pass may run code of the user's, whose effects the trace would not see:
    hooks, autograd functions, what is saved elsewhere, and everything before the program.
    """
    for node in tracer.graph.nodes:
        func = node.func
        if func in HOOKING or func is set_saved_hooks or _has_bodies(func):
            return True
        if getattr(func, "__func__", None) is APPLY or type(func).__name__ == "CustomOpDef":
            return True
        if is_op(func) and not qualified_name(func).startswith("aten::"):
            return True
    graph, seen = tracer.graph, tracer.observations
    outer = [v for v in (*graph.inputs, *[v for v, _ in graph.constants]) if v.meta.requires_grad]
    return any(seen.of(tracer, v, "has hooks") or not seen.of(tracer, v, "is_leaf") for v in outer)


_PASSES: Final = (torch.Tensor.backward, torch.autograd.backward)
_COMPUTED: Final = (torch.autograd.grad, *_PASSES)
_CALLS: Final[dict[Any, Callable[..., Any]]] = {
    torch.Tensor.register_hook: _hook,
    torch.Tensor.register_post_accumulate_grad_hook: _hook,
    torch.Tensor.retain_grad: _retain,
    torch.autograd.grad: _grad,
}
