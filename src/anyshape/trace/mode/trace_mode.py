"""The mode under which a program is traced: torch hands it every call of a torch function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.overrides import TorchFunctionMode

from anyshape.tensor.python_method import NAMES
from anyshape.torch_compat.call_frame import overridable

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


class TraceMode(TorchFunctionMode):
    """Sees what no traced tensor is part of: factories, and ops on the program's own tensors."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func in NAMES:
            self.tracer.met_methods.add(NAMES[func])
        return self.tracer.call(overridable(func), args, kwargs or {})
