"""`backward()` inside a program, and the gradients that its tensors have then.

A backward pass gives gradients to the leaves that it reaches: inputs, and results that became
leaves by `requires_grad_()`. The first one makes a tensor, and a later one adds to it in place, so
a gradient is one object that changes. Which leaves are reached is found by the calls between; where
a program reads a gradient, the run checks that it is there.

Not traced are passes that reach parameters and other tensors from outside, since code that is not
recorded may read their gradients, and passes that may run code of the user's.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.rules.dispatch.result import Many
from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.graph.graph import CONSTANT, INPUT, Value, leaves
from anyshape.trace.record.effect.autograd_effect import gradient_of, run_backward, set_gradient

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer

_GRADIENT: Final = "gradient"
_LEAF: Final = "leaf"
_UNREAD: Final = object()  # a gradient that the program has not read
_PARAMETERS: Final = {
    torch.Tensor.backward: ("gradient", "retain_graph", "create_graph", "inputs"),
    torch.autograd.backward: ("grad_tensors", "retain_graph", "create_graph", "inputs"),
}


def note_leaf(tracer: Tracer, t: SymTensor) -> None:
    """Note a result that became a leaf of the autograd graph."""
    tracer.memo[t._value, _LEAF] = True


def backward(tracer: Tracer, func: Any, *args: Any, **kwargs: Any) -> Any:
    """Record a backward pass; `NotImplemented` where programs cannot have it."""
    asked = inspect.signature(func).bind(*args, **kwargs)
    asked.apply_defaults()
    told = asked.arguments
    given, retain, create, inputs = (told[name] for name in _PARAMETERS[func])
    if create or inputs is not None or told.get("grad_variables") is not None:
        return NotImplemented
    outs = _tensors(args[0] if args else told["tensors"])
    if tracer.is_segmented or not all(type(t) is SymTensor for t in outs):
        return NotImplemented
    reached = _reached(tracer, [t._value for t in outs])
    if any(v.kind == CONSTANT and v.node is None for v in reached):
        return NotImplemented
    tracer.asked_grad = True
    outer = [v for v in reached if v.node is None]
    if any(tracer.observations.of(tracer, v, "grad") is not None for v in outer):
        return NotImplemented
    given = given if given is None else _tensors(given)
    tracer.emit(run_backward, (outs, given, retain, tuple(outer)))
    tracer.recorder.effects += 1
    for v in reached:
        key = (v, _GRADIENT)
        found = tracer.memo.get(key)
        if found is None:
            tracer.memo[key] = _UNREAD
        elif found is not _UNREAD:
            tracer.touch(found)
    return None


def _tensors(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, tuple | list) else (x,)


def _reached(tracer: Tracer, found: list[Value]) -> list[Value]:
    """The leaves that a backward pass from these values gives gradients to."""
    reached, roots = set(found), {v.root for v in found}
    order: dict[Value, None] = {}

    def flows(v: Value) -> bool:
        return bool(v.meta.requires_grad) or (v, _LEAF) in tracer.memo

    def ends(v: Value) -> bool:
        return (v, _LEAF) in tracer.memo or v.node is None

    for node in reversed(tracer.graph.nodes):
        outs = [x for x in leaves(node.outs) if type(x) is Value]
        operands = [x for x in leaves((node.args, node.kwargs)) if type(x) is Value]
        changes = not outs and bool(operands) and operands[0].root in roots
        if not changes and not any(v in reached and (v, _LEAF) not in tracer.memo for v in outs):
            continue
        for v in operands:
            if flows(v) and v not in reached:
                reached.add(v)
                roots.add(v.root)
    for v in reached:
        if (flows(v) and ends(v) and v.kind in (INPUT, CONSTANT)) or (v, _LEAF) in tracer.memo:
            order[v] = None
    return sorted(order, key=lambda v: (v.kind, v.index))


def gradient(tracer: Tracer, t: SymTensor) -> tuple[bool, Any]:
    """Whether the trace knows the gradient of a tensor, and the gradient."""
    key = (t._value, _GRADIENT)
    found = tracer.memo.get(key)
    if found is _UNREAD:
        meta = t._meta
        own = Meta(meta.shape, meta.dtype, unsure(CONTIGUOUS), meta.device, requires_grad=False)
        (found,) = tracer.record(gradient_of, (t,), {}, Many([own], tuple))
        tracer.memo[key] = found
    return key in tracer.memo, found


def assign_gradient(tracer: Tracer, t: SymTensor, value: Any) -> bool:
    """`t.grad = value` of a result, when the program runs too; whether programs can have it."""
    recorder = tracer.recorder
    if recorder is None or not recorder.replays or tracer.bodies or tracer.is_segmented:
        return False
    is_result = t._value.node is not None and t._value.root is t._value
    if not is_result or not (value is None or type(value) is SymTensor):
        return False
    tracer.emit(set_gradient, (t, value))
    recorder.effects += 1
    tracer.memo[t._value, _GRADIENT] = value
    return True
