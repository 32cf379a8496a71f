"""`torch.cond`: both sides are traced, and the predicate picks one when the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.size import expect_equal, product
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace import tree
from anyshape.trace.higher_order import runtime
from anyshape.trace.higher_order.body import trace_body
from anyshape.trace.higher_order.result import Joined, names_in, record, refuse_results

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder


def cond(recorder: Recorder, pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """`torch.cond`, which takes tensors only if its predicate is one."""
    flat = tree.flatten(operands)[0] if isinstance(pred, torch.Tensor) else ()
    if not all(isinstance(x, torch.Tensor) for x in flat):
        raise RuntimeError("torch.cond: operands must be tensors, in tuples, lists and dicts")
    return operator(recorder, pred, true_fn, false_fn, operands)


def operator(recorder: Recorder, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
    """The operator; a predicate that is known while tracing picks a side then, as in eager."""
    tracer = recorder.tracer
    then, other = recorder.hooks.ready(true_fn), recorder.hooks.ready(false_fn)
    if type(pred) is SymBool and not _needs_run(pred):
        pred = bool(pred)
    if not isinstance(pred, torch.Tensor | SymBool):
        return then(*operands) if pred else other(*operands)
    if isinstance(pred, torch.Tensor):
        shape = pred._meta.shape if type(pred) is SymTensor else tuple(pred.shape)
        expect_equal(product(shape), 1, lambda: "torch.cond: the predicate has one element")
    first = trace_body(tracer, "torch.cond", lambda: then(*operands))
    second = trace_body(tracer, "torch.cond", lambda: other(*operands))
    if first.spec != second.spec:
        refuse_results("returns other containers than the other", [first.spec, second.spec])
    joined = Joined(tracer, names_in(first, second))
    parts = [joined.part(list(pair)) for pair in zip(first.results, second.results, strict=True)]
    args = (pred, first.body, first.captures, second.body, second.captures)
    return tree.unflatten(record(tracer, runtime.cond, args, parts), first.spec)


def _needs_run(pred: SymBool) -> bool:
    """Whether only the run can tell."""
    return pred.known() is None and pred.env.hint_for_guard(pred.condition) is None


def wrap(recorder: Recorder, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The operator that calls a function as it is."""
    return recorder.hooks.ready(function)(*args, **kwargs)


def enter_autocast(recorder: Recorder, *options: Any) -> Any:
    """Autocast from here on, as a graph of torch has it."""
    block: Any = recorder.tracer.block(torch.autocast(*options))
    block.__enter__()
    return block


def exit_autocast(_: Recorder, block: Any) -> None:
    """The end of it."""
    block.__exit__(None, None, None)
