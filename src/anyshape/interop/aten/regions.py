"""Stretches of a program in another grad mode, or under autocast."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import AnyshapeWarning
from anyshape.interop.aten.symbols import refuse
from anyshape.torch_compat.exported_program import enter_autocast, exit_autocast, set_grad
from anyshape.torch_compat.thread_state import set_grad_enabled
from anyshape.trace.execution_modes import (
    restore_autocast,
    restore_grad,
    set_autocast,
    set_inference,
)
from anyshape.trace.graph import op_name

if TYPE_CHECKING:
    from torch import fx

    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph import Node


class Regions:
    """The modes of one program while it is written. The program begins with gradients enabled and
    without autocast, as programs of torch do.
    """

    def __init__(self, writer: AtenWriter) -> None:
        self._writer = writer
        self._entered: list[fx.Node] = []
        self._grad = True
        self.found = False

    def write(self, step: Node) -> None:
        """Write a change of a mode."""
        func = step.func
        if func is set_grad_enabled or func is restore_grad:
            self._set_grad(step.args[0] if step.args else True)
        elif func is set_autocast or func is restore_autocast:
            self._set_autocast(step.args[0] if step.args else ())
        elif func is set_inference:
            warnings.warn(
                f"the program of torch has no_grad in place of inference_mode at {step.site}",
                AnyshapeWarning,
                stacklevel=2,
            )
            self._set_grad(not step.args[0])
        elif func is torch.set_default_dtype:
            raise refuse("a change of the default dtype", step, fix="give dtype= in the calls")
        else:
            raise refuse(op_name(func), step)

    def _set_grad(self, enabled: bool) -> None:
        if enabled is not self._grad:
            self.found, self._grad = True, enabled
            self._writer.emit(set_grad, (enabled,), None)

    def _set_autocast(self, state: Any) -> None:
        for node in reversed(self._entered):
            self._writer.emit(exit_autocast, (node,), None)
        self._entered = []
        for device, dtype in state:
            self.found = True
            args = (device, dtype, True, torch.is_autocast_cache_enabled())
            self._entered.append(self._writer.emit(enter_autocast, args, None))

    def close(self) -> None:
        """End with the modes of the beginning."""
        self._set_autocast(())
        self._set_grad(True)
