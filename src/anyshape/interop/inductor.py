"""Lowering with TorchInductor: its compiler gets our graph directly, without a second trace.

The behavior of torch 2.11 to 2.13 that this relies on: `compile_fx` takes a graph whose inputs are
fake tensors over one `ShapeEnv`, symbols first; it makes the joint graph with AOTAutograd, lifts
parameters and buffers to inputs that are read at each call, and compiles both. Deferred runtime
asserts of the `ShapeEnv` become checks in the generated code; `aten._assert_scalar` makes them.

- Where sizes may be 0 or 1, `backed_size_oblivious` keeps questions that have a general path from
  becoming guards.
- The backward gets the strides of saved tensors as symbolic numbers, through the tracing context;
  plain numbers would specialize it to the sizes of the first call.
- If sizes are dynamic, the backward is compiled with the forward: later, its guards would be lost.
- A graph with asserts is not taken from the cache of AOTAutograd, so that `failures` sees it.
- Kernels that use a data-dependent number are placed after the checks of that number.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch

from anyshape.rules.dispatch.autocast import autocast_state
from anyshape.torch_compat.compiled_halves import Halves, halves_noted
from anyshape.torch_compat.fake_tensor import SYMPY_INTERP, TracingContext, tracing
from anyshape.torch_compat.inductor_compiler import (
    AssertScalar,
    SchedulerPass,
    WeakDep,
    backward_at_once,
    compile_fx,
    compile_fx_inner,
    with_scheduler_pass,
    without_autograd_cache,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule

    from anyshape.interop.assert_failure import AssertFailures
    from anyshape.interop.fakes import Fakes


def compile_with_inductor(
    module: GraphModule,
    fakes: Fakes,
    failures: AssertFailures,
    settings: dict[str, Any],
    *,
    direct: bool = False,
) -> Callable[..., Any] | Halves:
    """The compiled graph, as a function of symbols and tensors, by these settings of Inductor.

    If it is `direct`, and AOTAutograd's wrapper has nothing else to do, the generated code is
    called without it where gradients are off; where they are on, the halves are returned.
    """
    context = TracingContext(fakes.mode)
    found: list[Halves | None] = []

    def inner(graph: GraphModule, *args: Any, **kwargs: Any) -> Any:
        failures.note(graph)
        result: Any = compile_fx_inner(graph, *args, **kwargs)
        if context.output_strides and result.output_strides:
            numbers = {theirs: fakes.numbers[ours] for theirs, ours in fakes.names.items()}
            context.output_strides[:] = [
                None if parts is None else tuple([_number(part, numbers) for part in parts])
                for parts in result.output_strides
            ]
        return result

    with ExitStack() as stack:
        stack.enter_context(fakes.general)
        if fakes.names:
            stack.enter_context(backward_at_once())
        if failures.has_asserts:
            stack.enter_context(with_scheduler_pass(ChecksFirst()))
            stack.enter_context(without_autograd_cache())
        stack.enter_context(tracing(context))
        stack.enter_context(halves_noted(found))
        compiled: Any = compile_fx(
            module, fakes.inputs(), inner_compile=inner, config_patches=settings or None
        )
    made: Callable[..., Any] = compiled
    halves = found[0] if len(found) == 1 else None
    if direct and halves is not None and not autocast_state():
        if torch.is_grad_enabled():
            return halves
        call = halves.forward
        return lambda *args: call([*args])
    return made


def _number(text: str, numbers: dict[str, Any]) -> Any:
    """A stride that Inductor reports, as a symbolic number."""
    functions = {"max": torch.sym_max, "min": torch.sym_min}
    return eval(text, {**SYMPY_INTERP, **functions}, numbers)  # printed by torch


class ChecksFirst(SchedulerPass):  # type: ignore[misc]
    """Makes kernels that use an unbacked symbol depend on the checks of it that precede them."""

    def __call__(self, nodes: list[Any]) -> list[Any]:
        """Add the dependencies; the order is kept."""
        checks: dict[Any, list[str]] = {}
        for node in nodes:
            ir = node.node
            if isinstance(ir, AssertScalar):
                for symbol in ir.get_free_symbol_uses(unbacked_only=True):
                    checks.setdefault(symbol, []).append(ir.get_name())
            elif ir is not None:
                for symbol in ir.get_free_symbol_uses(unbacked_only=True):
                    for name in checks.get(symbol, ()):
                        node.add_fake_dep(WeakDep(name, mutating_buf=node.get_first_name()))
        if checks:
            nodes[0].scheduler.compute_ancestors()
        return nodes

    def uuid(self) -> Any:
        """The identity of the pass in the caches of compiled code."""
        return "anyshape checks first 1"
