"""TorchInductor: its compiler, its switches, and the parts of its schedule that a pass reads.

Importing this module takes seconds; only lowering with Inductor does.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final

from torch._functorch import config as _functorch
from torch._inductor import config as _inductor
from torch._inductor import custom_graph_pass
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.dependencies import WeakDep
from torch._inductor.ir import AssertScalar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

__all__ = [
    "AssertScalar",
    "SchedulerPass",
    "WeakDep",
    "backward_at_once",
    "compile_fx",
    "compile_fx_inner",
    "kernels_side_by_side",
    "with_scheduler_pass",
    "without_autograd_cache",
]

# - `compile_fx(module, inputs, inner_compile=...)` makes forward and backward with AOTAutograd and
#   compiles each with `compile_fx_inner`, whose result has `output_strides`.
# - `AssertScalar` is the node of a runtime assert in the schedule. `WeakDep(name, mutating_buf=x)`
#   places a node after another.

SchedulerPass: Final[Any] = getattr(custom_graph_pass, "CustomSchedulerPass", object)
"""The class of a pass over the schedule, since torch 2.12; any callable with a `uuid` before."""


def backward_at_once() -> AbstractContextManager[Any]:
    """A block in which the backward pass is compiled together with the forward pass.

    Compiled later, its guards over sizes would be lost. A torch without the switch does so anyway
    where sizes are dynamic.
    """
    if not hasattr(_functorch, "force_non_lazy_backward_lowering"):
        return nullcontext()
    patched: AbstractContextManager[Any] = _functorch.patch(force_non_lazy_backward_lowering=True)
    return patched


def without_autograd_cache() -> AbstractContextManager[Any]:
    """A block in which AOTAutograd makes the joint graph anew and reads no cache."""
    patched: AbstractContextManager[Any] = _functorch.patch(enable_autograd_cache=False)
    return patched


def with_scheduler_pass(scheduler_pass: Any) -> AbstractContextManager[Any]:
    """A block in which Inductor runs a pass over its schedule before it fuses kernels."""
    patched: AbstractContextManager[Any] = _inductor.patch(_pre_fusion_custom_pass=scheduler_pass)
    return patched


@contextmanager
def kernels_side_by_side() -> Iterator[None]:
    """A block in which Inductor does not wait for the kernels of a graph before it goes on with the
    next; at its end all are ready. Graphs that other threads compile are not affected.
    """
    wait, mine = AsyncCompile.wait, get_ident()
    waiting: list[tuple[Any, Any]] = []

    def later(self: Any, scope: Any) -> None:
        if get_ident() == mine:
            waiting.append((self, scope))
        else:
            wait(self, scope)

    AsyncCompile.wait = later  # type: ignore[method-assign]
    try:
        yield
    finally:
        AsyncCompile.wait = wait  # type: ignore[method-assign]
        for compilation, scope in waiting:
            compilation.wait(scope)
