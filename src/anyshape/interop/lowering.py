"""Lowering: a traced program compiled by one of torch's compilers.

The compiler gets the graph over fake inputs. Generated Python wraps the compiled graph; the
assumptions of the compiler about the inputs become the guards of the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import BackendError, UnsupportedError, text_of
from anyshape.interop.backend import Backend, Lowered
from anyshape.interop.compiler_turn import is_of_torch
from anyshape.interop.fakes import make_fakes
from anyshape.interop.hints import actual_hints, choose_hints
from anyshape.interop.histories import Histories
from anyshape.interop.inductor import compile_with_inductor
from anyshape.interop.kept_cast import with_fresh_casts
from anyshape.interop.lowerable import (
    need_fresh_casts,
    need_lowerable,
    need_order,
    need_plain_memory,
    need_plain_tensors,
)
from anyshape.interop.lowering_guards import LoweringGuards
from anyshape.interop.node_example import Examples
from anyshape.interop.regions.lowering import lower_regions
from anyshape.interop.regions.region_program import RegionProgram
from anyshape.interop.runtime_wrapper import RuntimeWrapper
from anyshape.interop.size_guards import GuardSorter, taken_guards
from anyshape.torch_compat.fake_kernel import enable_python_dispatcher
from anyshape.torch_compat.fake_tensor import (
    PendingUnbackedSymbolNotFound,
    TracingContext,
    forget_tensors,
    tracing,
)
from anyshape.trace.mode.execution_modes import keep_modes

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import GraphModule

    from anyshape.interop.assert_failure import AssertFailures
    from anyshape.interop.backend import Compiler
    from anyshape.interop.fakes import Fakes
    from anyshape.trace.capture import Captured


def lower_graph(captured: Captured, backend: Backend, flat: list[Any]) -> Lowered:
    """The program compiled by a backend, for inputs like these.

    The first attempt uses hints that differ from the values of the call. If a guard that results
    from them does not hold for the call, the program is compiled again with the values as hints.
    An attempt assumes the general case about sizes; if torch makes a size for it that it cannot
    name, the hints answer instead, and each answer is a premise.
    """
    need_lowerable(captured.graph)
    need_fresh_casts(captured.graph, captured.tracer.outer_autocast)
    need_plain_tensors(captured.tracer)
    need_plain_memory(captured.graph, flat)
    bound = {bind.name for bind in captured.inputs.named}
    need_order(captured.runtime_asserts, captured.graph, bound)
    wrapper = RuntimeWrapper(captured)
    wrapper.check_early(flat)
    hints = choose_hints(captured, flat, wrapper.early)
    try:
        lowered, broken = _attempt(captured, wrapper, backend, flat, hints)
        if broken is not None:
            hints = actual_hints(captured, flat)
            lowered, broken = _attempt(captured, wrapper, backend, flat, hints)
        if broken is not None:
            raise UnsupportedError(broken)
    except Exception as e:
        raise BackendError(
            f"the backend {backend.name!r} failed on the program",
            why=f"{type(e).__name__}: {text_of(e)}",
        ) from e
    return lowered


def _attempt(
    captured: Captured,
    wrapper: RuntimeWrapper,
    backend: Backend,
    flat: list[Any],
    hints: dict[str, Any],
) -> tuple[Lowered, str | None]:
    """The lowered program, and a guard that fails for this call."""
    try:
        return _lower(captured, wrapper, backend, flat, hints)
    except PendingUnbackedSymbolNotFound:
        return _lower(captured, wrapper, backend, flat, hints, by_hints=True)


def _lower(
    captured: Captured,
    wrapper: RuntimeWrapper,
    backend: Backend,
    flat: list[Any],
    hints: dict[str, Any],
    *,
    by_hints: bool = False,
) -> tuple[Lowered, str | None]:
    """One attempt. If it is `by_hints`, each answer that torch gets about sizes is a premise."""
    fakes = make_fakes(captured, flat, hints)
    if by_hints:
        fakes = fakes._replace(may_be_single=False)
    guards = LoweringGuards(captured, flat, fakes, wrapper.storage.whole)
    broken = guards.first_failure(flat)
    if broken is not None:
        raise UnsupportedError(broken)
    sorter = GuardSorter(captured, known=is_of_torch(backend) and not by_hints)

    def compile_one(module: GraphModule, given: Fakes, failures: AssertFailures) -> Any:
        with keep_modes():
            if backend.compiler is None:
                direct = failures is not wrapper.failures  # a part, which has no constants
                settings = backend.settings
                return compile_with_inductor(module, given, failures, settings, direct=direct)
            return _compile(backend.compiler, backend.settings, module, given)

    made = lower_regions(captured, wrapper, backend, fakes, hints, flat, sorter, compile_one)
    if isinstance(made, str):
        compiled = compile_one(wrapper.module(fakes), fakes, wrapper.failures)
        histories = Histories(captured, wrapper.outputs)
        compiled = histories.kept_by(compiled) if histories.differ else compiled
        made = RegionProgram(compiled, sorter.kept(taken_guards(fakes)), [made] if made else [])
    kept = made.guards
    guards.take_premises([guard for guard in kept if guard.premise])
    conditions = [guard.text for guard in kept if not guard.premise]
    run = with_fresh_casts(wrapper.run(made.run, fakes, conditions), captured)
    forget_tensors(fakes.mode)
    lowered = Lowered(run, guards.first_failure, tuple(guards.sizes), tuple(made.described))
    return lowered, guards.first_failure(flat)


def _compile(
    compiler: Compiler, settings: dict[str, Any], module: GraphModule, fakes: Fakes
) -> Callable[..., Any]:
    with fakes.general, tracing(TracingContext(fakes.mode)):
        with fakes.mode, enable_python_dispatcher():
            Examples(module, fakes).run(*fakes.inputs())
        made = compiler(module, fakes.inputs(), **settings)
    if not callable(made):
        raise TypeError(f"it returned {made!r:.80}, not a function")
    return made
