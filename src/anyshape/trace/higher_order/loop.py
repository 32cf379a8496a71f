"""Loops: `while_loop`, `map`, `scan` and `associative_scan`, whose body is traced once.

The values that a loop carries have the same sizes and dtypes in every round. Numbers are carried as
new symbols, for their values differ from round to round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.rules.dispatch.result import Defined
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.layout import CONTIGUOUS, Layout, strides_of, unsure
from anyshape.tensor.meta import Meta, meta_of_real
from anyshape.tensor.size import expect, expect_equal
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace import tree
from anyshape.trace.higher_order import runtime
from anyshape.trace.higher_order.body import number_parameter, parameter, trace_body
from anyshape.trace.higher_order.result import Joined, names_in, record, refuse_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.recorder import Recorder
    from anyshape.trace.tracer import Tracer

_LENGTH = "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"


def meta_of(x: torch.Tensor) -> Meta:
    """What is known of a tensor, traced or real."""
    if type(x) is SymTensor:
        return x._meta
    with DisableTorchFunction():
        return meta_of_real(x)


def while_loop(
    recorder: Recorder, cond_fn: Any, body_fn: Any, carried_inputs: Any, additional: Any = ()
) -> Any:
    """`torch.while_loop`."""
    tracer = recorder.tracer
    test, step = recorder.hooks.ready(cond_fn), recorder.hooks.ready(body_fn)
    flat, spec = tree.flatten(tuple(carried_inputs))
    carried = [_carried(tracer, x) for x in flat]
    inputs = tree.unflatten(carried, spec)
    name = "torch.while_loop"
    tested = trace_body(tracer, name, lambda: test(*inputs, *additional), carried)
    stepped = trace_body(
        tracer,
        name,
        lambda: step(*inputs, *additional),
        carried,
        lambda results: _need_same(name, carried, results),
    )
    if len(tested.results) != 1:
        refuse_results("is no test: it returns several results", tested.results)
    joined = Joined(tracer, names_in(tested, stepped))
    parts = [_left(tracer, joined, before) for before in flat]
    args = (tested.body, tested.captures, stepped.body, stepped.captures, flat)
    return tree.unflatten(record(tracer, runtime.while_loop, args, parts), spec)


def _carried(tracer: Tracer, x: Any) -> Any:
    """The value that a loop carries, at the start of any round."""
    if isinstance(x, torch.Tensor):
        meta = meta_of(x)
        layout = unsure(CONTIGUOUS)
        return parameter(
            tracer, Meta(meta.shape, meta.dtype, layout, meta.device, meta.requires_grad)
        )
    if type(x) in (int, SymInt):
        return number_parameter(tracer)
    raise refused(UnsupportedError, f"a loop of torch carries a {type(x).__name__}", code="AS116")


def _need_same(name: str, carried: list[Any], results: list[Any]) -> None:
    """Require that a round leaves sizes and dtypes as they were."""
    if len(carried) != len(results):
        refuse_results(
            "returns another number of results than it gets", [len(carried), len(results)]
        )
    for before, after in zip(carried, results, strict=True):
        if type(before) is not SymTensor:
            if type(after) not in (int, SymInt):
                refuse_results("returns something else for a number that it gets", [after])
            continue
        if type(after) is not SymTensor:
            refuse_results("returns something else for a tensor that it gets", [after])
        was, is_ = before._meta, after._meta
        if was.dtype != is_.dtype or was.device != is_.device or len(was.shape) != len(is_.shape):
            refuse_results("returns another kind of tensor than it gets", [was, is_])
        for n, m in zip(was.shape, is_.shape, strict=True):
            expect_equal(n, m, _constant(f"{name}: the sizes {was.shape} become {is_.shape}"))


def _constant(text: str) -> Callable[[], str]:
    return lambda: text


def _left(tracer: Tracer, joined: Joined, before: Any) -> Any:
    """What a loop leaves of a value that it carries."""
    if not isinstance(before, torch.Tensor):
        return Defined(SymInt(tracer.env.unbacked(), tracer.env))
    meta = meta_of(before)
    return Meta(meta.shape, meta.dtype, unsure(CONTIGUOUS), meta.device)


# ---------------------------------------------------------------------- over the rows of tensors


def one_of(tracer: Tracer, x: torch.Tensor, place: int = 0) -> SymTensor:
    """Any of the parts of a tensor along a dimension."""
    meta = meta_of(x)
    shape = meta.shape[:place] + meta.shape[place + 1 :]

    def make() -> Layout:
        strides = strides_of(meta)
        return Layout(strides=strides[:place] + strides[place + 1 :])

    layout = Layout(make=make) if shape else CONTIGUOUS
    return parameter(tracer, Meta(shape, meta.dtype, layout, meta.device, meta.requires_grad))


def _need_rows(xs: list[Any], say: Callable[[], str]) -> Any:
    """The number of rows, which all have and which is not 0."""
    if not xs or any(not isinstance(x, torch.Tensor) or not meta_of(x).shape for x in xs):
        raise refused(UnsupportedError, say(), code="AS116")
    count = meta_of(xs[0]).shape[0]
    for x in xs[1:]:
        expect_equal(count, meta_of(x).shape[0], say)
    expect(count > 0, say)
    return count


def _stacked(joined: Joined, count: Any, result: Any) -> Any:
    """The results of all rounds: tensors are stacked, numbers are equal in all."""
    if type(result) is not SymTensor:
        return joined.number([result])
    meta = joined.tensor([result])
    return Meta((count, *meta.shape), meta.dtype, CONTIGUOUS, meta.device, meta.requires_grad)


def map(recorder: Recorder, f: Any, xs: Any, *args: Any) -> Any:
    """`torch._higher_order_ops.map`."""
    tracer, call = recorder.tracer, recorder.hooks.ready(f)
    flat, spec = tree.flatten(xs)
    count = _need_rows(flat, lambda: "map: leading dimensions of xs must be equal and not 0")
    rows = [one_of(tracer, x) for x in flat]
    traced = trace_body(tracer, "map", lambda: call(tree.unflatten(rows, spec), *args), rows)
    joined = Joined(tracer, names_in(traced))
    parts = [_stacked(joined, count, x) for x in traced.results]
    made = record(tracer, runtime.map, (traced.body, traced.captures, flat), parts)
    return tree.unflatten(made, traced.spec)


def map_operator(recorder: Recorder, f: Any, xs: Any, args: Any) -> Any:
    """The operator behind `map`, whose function takes the rows one by one."""
    call = recorder.hooks.ready(f)
    return map(recorder, lambda rows: call(*rows, *args), list(xs))


def scan(
    recorder: Recorder, combine_fn: Any, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> Any:
    """`torch._higher_order_ops.scan`."""
    tracer, call = recorder.tracer, recorder.hooks.ready(combine_fn)
    start, init_spec = tree.flatten(init)
    flat, spec = tree.flatten(xs)
    if not flat:
        return init, []
    dim = _dim(flat, dim)
    flat = _along(flat, dim, reverse)
    count = _need_rows(flat, lambda: _LENGTH)
    carried, rows = [_carried(tracer, x) for x in start], [one_of(tracer, x) for x in flat]
    traced = trace_body(
        tracer,
        "scan",
        lambda: call(tree.unflatten(carried, init_spec), tree.unflatten(rows, spec)),
        [*carried, *rows],
        lambda results: _need_same("scan", carried, results[: len(start)]),
    )
    joined = Joined(tracer, names_in(traced))
    parts = [_left(tracer, joined, x) for x in start]
    parts += [_stacked(joined, count, x) for x in traced.results[len(start) :]]
    args = (traced.body, traced.captures, start, flat, len(start))
    made = record(tracer, runtime.scan, args, parts)
    made[len(start) :] = _back(made[len(start) :], dim, reverse)
    return tree.unflatten(made, traced.spec)


def scan_operator(recorder: Recorder, combine_fn: Any, init: Any, xs: Any, additional: Any) -> Any:
    """The operator behind `scan`, whose function takes and gives flat lists."""
    call, count = recorder.hooks.ready(combine_fn), len(init)

    def step(carry: Any, row: Any) -> Any:
        results = list(call(*carry, *row, *additional))
        return results[:count], results[count:]

    carry, out = scan(recorder, step, list(init), list(xs))
    return [*carry, *out]


def associative_scan(
    recorder: Recorder,
    combine_fn: Any,
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """`torch._higher_order_ops.associative_scan`."""
    tracer, call = recorder.tracer, recorder.hooks.ready(combine_fn)
    flat, spec = tree.flatten(xs)
    if combine_mode != "generic" and any(str(meta_of(x).device) == "cpu" for x in flat):
        raise ValueError(
            "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU"
        )
    dim = _dim(flat, dim)
    flat = _along(flat, dim, reverse)
    _need_rows(flat, lambda: _LENGTH)
    left, right = [one_of(tracer, x) for x in flat], [one_of(tracer, x) for x in flat]
    traced = trace_body(
        tracer,
        "associative_scan",
        lambda: call(tree.unflatten(left, spec), tree.unflatten(right, spec)),
        [*left, *right],
        lambda results: _need_same("associative_scan", left, results),
    )
    parts = []
    for x in flat:
        meta = meta_of(x)
        parts.append(Meta(meta.shape, meta.dtype, unsure(CONTIGUOUS), meta.device))
    made = record(tracer, runtime.associative_scan, (traced.body, traced.captures, flat), parts)
    return tree.unflatten(_back(made, dim, reverse), traced.spec)


def _dim(xs: list[Any], dim: int) -> int:
    """A dimension of the first tensor, counted from the front."""
    rank = len(meta_of(xs[0]).shape)
    return dim + rank if dim < 0 else dim


def _along(xs: list[Any], dim: int, reverse: bool) -> list[Any]:
    """The tensors with the dimension to scan first, in the order of the scan."""
    moved = [torch.movedim(x, dim, 0) if dim else x for x in xs]
    return [torch.flip(x, [0]) for x in moved] if reverse else moved


def _back(results: list[Any], dim: int, reverse: bool) -> list[Any]:
    """The inverse of `_along`, for stacked results."""
    if reverse:
        results = [torch.flip(x, [0]) if isinstance(x, torch.Tensor) else x for x in results]
    if not dim:
        return results
    return [
        torch.movedim(x, 0, dim) if isinstance(x, torch.Tensor) and x.dim() > dim else x
        for x in results
    ]
