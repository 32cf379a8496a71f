"""The compiled forward and backward of a graph, below the wrappers of AOTAutograd.

Per call, those wrappers and Inductor's cost a tenth of a millisecond in each direction. A caller
that knows what it calls may call the compiled code itself, if it does what they do: `Halves` is for
graphs where that is little. Importing this module imports torch's compilers.

- `RuntimeWrapper.post_compile` gets the compiled forward, or the bound `apply` of the autograd
  function that holds both halves, whether they were compiled or came from a cache.
- A compiled half is a `CompiledFxGraph`, whose `current_callable` is the generated function of a
  list, which it empties.
- The forward returns the outputs, the tensors saved for the backward and the numbers saved for it.
  The backward takes these numbers, these tensors and a tangent of each differentiable output, laid
  out as it expects, and returns a gradient or None for each input.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch._dynamo  # before the wrappers, which it imports and which import it
from torch._C._autograd import _get_current_graph_task_keep_graph as keeps_graph
from torch._C._functorch import peek_interpreter_stack
from torch._functorch import config as _functorch
from torch._functorch._aot_autograd.runtime_wrappers import (
    AOTDispatchAutograd,
    RuntimeWrapper,
    coerce_to_expected_memory_format,
)
from torch._functorch._aot_autograd.schemas import OutputType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Halves", "check_backward", "halves_noted", "keep", "kept", "lay_out", "plain_tangent"]


class Halves(NamedTuple):
    """The generated functions of a graph, each of a list that it empties.

    `backward` is None where no output is differentiable. Of the results of `forward`, the first
    `outputs` are those of the graph, those in `tensors` and `numbers` are for the backward.
    `tangents` has, for each differentiable output, its place and what `lay_out` needs. `donates` is
    whether the backward writes into saved tensors, so that it may run only once.
    """

    forward: Callable[[list[Any]], Any]
    backward: Callable[[list[Any]], Any] | None
    outputs: int
    tensors: slice
    numbers: slice
    tangents: list[tuple[int, Any]]
    donates: bool


@contextmanager
def halves_noted(into: list[Halves | None]) -> Iterator[None]:
    """A block in which the halves of each graph that this thread compiles are appended to `into`;
    None for a graph whose wrapper does more than calling them.
    """
    before, mine = RuntimeWrapper.post_compile, get_ident()

    def post_compile(self: Any, compiled_fn: Any, *args: Any, **kwargs: Any) -> Any:
        if get_ident() == mine:
            into.append(_halves(self, compiled_fn, kwargs["runtime_metadata"]))
        return before(self, compiled_fn, *args, **kwargs)

    RuntimeWrapper.post_compile = post_compile  # type: ignore[method-assign]
    try:
        yield
    finally:
        RuntimeWrapper.post_compile = before  # type: ignore[method-assign]


def _halves(wrapper: Any, compiled: Any, meta: Any) -> Halves | None:
    if wrapper.disable_amp or wrapper.indices_of_inps_to_detach or not _is_plain(meta):
        return None
    if not wrapper.trace_joint:
        forward = getattr(compiled, "current_callable", None)
        nothing = slice(0, 0)
        if forward is None:
            return None
        return Halves(forward, None, meta.num_outputs, nothing, nothing, [], donates=False)
    function = getattr(compiled, "__self__", None)
    forward = getattr(getattr(function, "compiled_fw", None), "current_callable", None)
    backward = getattr(getattr(function, "compiled_bw", None), "current_callable", None)
    if forward is None or backward is None:
        return None
    places = [i for i, info in enumerate(meta.output_info) if _is_differentiable(info)]
    if len(places) != len(meta.subclass_tangent_meta):
        return None
    return Halves(
        forward,
        backward,
        meta.num_outputs,
        meta.tensors_saved_for_backwards_slice,
        meta.symints_saved_for_backwards_slice,
        list(zip(places, meta.subclass_tangent_meta, strict=True)),
        bool(_functorch.donated_buffer and meta.bw_donated_idxs),
    )


def _is_plain(meta: Any) -> bool:
    """Whether a graph only computes new tensors from plain ones."""
    special = (
        meta.tokens,
        meta.is_rng_op_functionalized,
        meta.num_intermediate_bases,
        meta.num_graphsafe_rng_states,
        meta.num_backward_tokens,
        meta.grad_enabled_mutation is not None,
        getattr(meta, "num_tensors_saved_with_no_vc_check", 0),
        getattr(meta, "num_opaque_objects_saved_for_bw", 0),
        meta.indices_of_inputs_that_requires_grad_with_mutations_in_bw,
    )
    if any(special):
        return False
    if any(info.mutates_data or info.mutates_metadata for info in meta.input_info):
        return False
    return all(info.output_type is OutputType.non_alias for info in meta.output_info)


def _is_differentiable(info: Any) -> bool:
    return bool(info.requires_grad) and issubclass(info.raw_type, torch.Tensor)


def lay_out(tangent: Any, meta: Any) -> Any:
    """A plain tangent, laid out as a backward expects it."""
    return coerce_to_expected_memory_format(tangent, meta.memory_format)


def plain_tangent(tangent: Any, meta: Any) -> Any:
    """A tangent that autograd gives. Raises if it is not a plain tensor."""
    return AOTDispatchAutograd.process_runtime_tangent(tangent, meta)[0]


def keep(ctx: Any, tensors: list[Any], fixed: list[Any]) -> None:
    """Save tensors for the backward of a function, whose `fixed` outputs have no gradients.

    Gradients that nobody asks for are None. A view would keep the graph of its base alive, and with
    it this function.
    """
    ctx.save_for_backward(*[x.detach() if x._is_view() else x for x in tensors])
    ctx.mark_non_differentiable(*fixed)
    ctx.set_materialize_grads(False)


def kept(ctx: Any) -> list[Any]:
    """The saved tensors, which the caller frees where the graph is not retained."""
    saved = list(ctx.saved_tensors)
    ctx.maybe_clear_saved_tensors()
    return saved


def check_backward(donates: bool) -> None:
    """Raise where a compiled backward would compute something else than autograd asks for."""
    if peek_interpreter_stack() is not None:
        raise RuntimeError(
            "a compiled backward function was called within vmap, grad or vjp: "
            "leave the function uncompiled, or compile the function around it"
        )
    if donates and keeps_graph():
        raise RuntimeError(
            "This backward function was compiled with non-empty donated buffers which requires "
            "create_graph=False and retain_graph=False: set "
            "torch._functorch.config.donated_buffer=False to compile without them"
        )
