"""`flex_attention` and `create_mask`: functions of single scores and indices are bodies.

Torch's own code checks the arguments and builds the block mask; it is traced like any other. Only
the operator that it ends with, and the dense mask, are calls with bodies.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

from anyshape.tensor.layout import CONTIGUOUS, unsure
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.flex_attention import takes_score
from anyshape.trace.higher_order import runtime
from anyshape.trace.higher_order.body import Traced, parameter, trace_body
from anyshape.trace.higher_order.loop import meta_of
from anyshape.trace.higher_order.result import record, refuse_results

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer

_INDICES = 4  # of the batch, the head, the query and the key


def flex_attention(
    recorder: Recorder,
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any,
    block_mask: Any,
    scale: Any,
    *_: Any,
    **__: Any,
) -> Any:
    """The operator behind `flex_attention`, computed densely, as eager execution does on a CPU."""
    tracer, ready = recorder.tracer, recorder.hooks.ready
    of_query = meta_of(query)
    precise = torch.float64 if of_query.dtype == torch.float64 else torch.float32
    score = _scalar(tracer, precise, of_query)
    first = _modified(tracer, ready(score_mod), [score], of_query)
    second = _modified(tracer, ready(block_mask[-1]), [], of_query)
    shape = of_query.shape[:-1]
    parts = [
        Meta((*shape, meta_of(value).shape[-1]), of_query.dtype, unsure(CONTIGUOUS)),
        Meta(shape, precise, CONTIGUOUS),
        Meta(shape, precise, CONTIGUOUS),
    ]
    bodies = (first.body, first.captures, second.body, second.captures)
    made = record(tracer, runtime.flex_attention, (*bodies, query, key, value, scale), parts)
    return tuple(made)


def create_mask(
    recorder: Recorder,
    mod_fn: Any,
    B: Any,  # noqa: N803  as torch calls it
    H: Any,  # noqa: N803
    Q_LEN: Any,  # noqa: N803
    KV_LEN: Any,  # noqa: N803
    device: Any = None,
) -> Any:
    """`create_mask`: whether each pair of a query and a key is kept."""
    tracer = recorder.tracer
    if device is None:
        device = torch.accelerator.current_accelerator() or "cpu"
    like = Meta((), torch.float32, CONTIGUOUS, torch.device(device))
    is_score = takes_score(mod_fn)
    given = [_scalar(tracer, torch.float32, like)] if is_score else []
    traced = _modified(tracer, recorder.hooks.ready(mod_fn), given, like)
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    dtype = torch.bool if is_score else traced.results[0]._meta.dtype
    part = Meta(shape, dtype, unsure(CONTIGUOUS), like.device)
    args = (traced.body, traced.captures, shape, str(device), is_score)
    return record(tracer, runtime.create_mask, args, [part])[0]


def _scalar(tracer: Tracer, dtype: torch.dtype, like: Meta) -> SymTensor:
    return parameter(tracer, Meta((), dtype, CONTIGUOUS, like.device))


def _modified(tracer: Tracer, call: Any, given: list[SymTensor], like: Meta) -> Traced:
    """The body of a function of one score, if any is given, and of its indices."""
    given = [*given, *[_scalar(tracer, torch.int64, like) for _ in range(_INDICES)]]

    def modify() -> Any:
        before, tracer.gathers = tracer.gathers, True
        try:
            return call(*given)
        finally:
            tracer.gathers = before

    traced = trace_body(tracer, "flex_attention", modify, given)
    (result, *rest) = traced.results
    if rest or type(result) is not SymTensor or result._meta.shape:
        refuse_results("returns something else than one score", traced.results)
    return traced


def set_up(_: Recorder) -> Any:
    """The context in which eager execution compiles the operator: nothing is compiled here."""
    return contextlib.nullcontext("eager")


def no_warning(_: Recorder, *__: Any, **___: Any) -> None:
    """The warning that the function is not compiled, which it is."""


def as_it_is(_: Recorder, model: Any = None, **__: Any) -> Any:
    """`torch.compile` inside a trace: the function itself, which is traced."""
    return model if model is not None else lambda function: function
