"""`ModuleCall`: a call of a module while a program is traced.

Every node keeps the innermost call that it was recorded in, so that the graph has the hierarchy of
the program, whatever is removed from it later.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


class ModuleCall:
    """One call of a module, inside the call `outer`; compared by identity.

    It does not keep the module alive.
    """

    __slots__ = ("_module", "kind", "outer")

    def __init__(self, module: torch.nn.Module, outer: ModuleCall | None) -> None:
        self._module = weakref.ref(module)
        self.kind = type(module)
        self.outer = outer

    @property
    def module(self) -> torch.nn.Module | None:
        """The module that was called, while it exists."""
        return self._module()

    @property
    def stack(self) -> tuple[ModuleCall, ...]:
        """The calls that it is in and itself, the outermost first."""
        return (*reversed([*self._inward()]),)

    def _inward(self) -> Iterator[ModuleCall]:
        at: ModuleCall | None = self
        while at is not None:
            yield at
            at = at.outer


def call_module(tracer: Any, module: torch.nn.Module, ready: Any, /, *args: Any, **kw: Any) -> Any:
    """Call `ready`, which does what calling `module` does, as a call of the module."""
    outer = tracer.module_call
    tracer.module_call = ModuleCall(module, outer)
    try:
        return ready(*args, **kw)
    finally:
        tracer.module_call = outer
