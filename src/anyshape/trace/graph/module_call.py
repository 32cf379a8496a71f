"""`ModuleCall`: a call of a module while a program is traced.

Every node keeps the innermost call that it was recorded in, so that the graph has the hierarchy of
the program, whichever nodes are removed later. Calls are numbered while they happen, and get the
paths of their modules at the end of an export.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from anyshape.trace.graph.call_signature import CallSignature, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


class ModuleCall:
    """One call of a module, inside the call `outer`; compared by identity.

    `number` counts the calls of one module in one run, from 0. `path` is the qualified name of the
    module, "" for the exported module itself; None where the program was not exported, or where the
    module has no name. `kind` is the class, or its qualified name in a program that was loaded. A
    call does not keep its module alive.
    """

    __slots__ = ("_module", "kind", "number", "outer", "path")

    def __init__(self, module: torch.nn.Module, outer: ModuleCall | None, number: int) -> None:
        self._module: Any = weakref.ref(module)
        self.kind: type | str = type(module)
        self.outer = outer
        self.number = number
        self.path: str | None = None

    @classmethod
    def saved(
        cls, path: str | None, kind: str, number: int, outer: ModuleCall | None
    ) -> ModuleCall:
        """A call in a program that was loaded: its module does not exist."""
        call = cls.__new__(cls)
        call._module = _none
        call.path, call.kind, call.number, call.outer = path, kind, number, outer
        return call

    @property
    def module(self) -> torch.nn.Module | None:
        """The module that was called, while it exists."""
        found: torch.nn.Module | None = self._module()
        return found

    @property
    def class_name(self) -> str:
        """The qualified name of the class of the module."""
        kind = self.kind
        return kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"

    @property
    def stack(self) -> tuple[ModuleCall, ...]:
        """The calls that it is in and itself, the outermost first."""
        return (*reversed([*self._inward()]),)

    def _inward(self) -> Iterator[ModuleCall]:
        at: ModuleCall | None = self
        while at is not None:
            yield at
            at = at.outer

    def __repr__(self) -> str:
        name = self.class_name.rpartition(".")[2]
        again = f", call {self.number + 1}" if self.number else ""
        return f"<{'?' if self.path is None else self.path or 'the root'}: {name}{again}>"


def call_module(tracer: Any, module: torch.nn.Module, ready: Any, /, *args: Any, **kw: Any) -> Any:
    """Call `ready`, which does what calling `module` does, as a call of the module."""
    outer, counts, key = tracer.module_call, tracer.module_calls, id(module)
    counts[key] = number = counts.get(key, -1) + 1
    tracer.module_call = call = ModuleCall(module, outer, number)
    is_kept = key in tracer.options.preserved
    inputs = frozen(tracer, tracer.options.preserved[key], (args, kw)) if is_kept else None
    try:
        result = ready(*args, **kw)
        if inputs is not None:
            outputs = frozen(tracer, tracer.options.preserved[key], result)
            tracer.graph.signatures.append(CallSignature(call, *inputs, *outputs))
        return result
    finally:
        tracer.module_call = outer


def _none() -> None:
    return None
