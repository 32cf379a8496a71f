"""Stretches of a program in another grad mode, or under autocast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning
from anyshape.interop.aten.symbols import refuse
from anyshape.torch_compat.exported_program import (
    SET_GRAD,
)
from anyshape.torch_compat.thread_state import ENTER_AUTOCAST, EXIT_AUTOCAST, set_grad_enabled
from anyshape.trace.graph.graph import Value, leaves, op_name, values_in
from anyshape.trace.mode.execution_modes import (
    autocast_devices,
    casts_kept,
    leave_modes,
    restore_autocast,
    restore_grad,
    set_autocast,
    set_inference,
)

if TYPE_CHECKING:
    from torch import fx

    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Graph, Node


_GRAD_CHANGES: Final = (set_grad_enabled, restore_grad)


def _enables(step: Node) -> bool:
    return bool(step.args[0]) if step.args else True


def _may_have_grad(v: Value) -> bool:
    return v.meta.dtype.is_floating_point or v.meta.dtype.is_complex


class Modes(NamedTuple):
    """The modes somewhere in a program."""

    grad: bool = True
    autocast: Any = ()

    def after(self, graph: Graph) -> Modes:
        """The modes after the calls of a graph."""
        grad, autocast = self
        for step in graph.nodes:
            if step.func in _GRAD_CHANGES:
                grad = _enables(step)
            elif step.func is set_inference:
                grad = not step.args[0]
            elif step.func is set_autocast:
                autocast = step.args[0]
            elif step.func is restore_autocast:
                autocast = ()
        return Modes(grad, autocast)


class Regions:
    """The modes of one program while it is written. The program begins with gradients enabled and
    without autocast, as programs of torch do.
    """

    def __init__(self, writer: AtenWriter) -> None:
        self._writer = writer
        self._entered: list[fx.Node] = []
        self._grad = True
        self.found = False
        self._idle: set[Node] = set()

    @property
    def is_open(self) -> bool:
        """Whether the modes are others than at the beginning."""
        return not self._grad or bool(self._entered)

    def begin(self, modes: Modes) -> None:
        """Enter the modes that a part of a program begins with."""
        self._set_grad(modes.grad)
        self._set_autocast(modes.autocast)

    def prepare(self, graph: Graph) -> None:
        """Find the stretches without gradients in which there are none to begin with: no float
        among the operands comes from an input, a parameter or a constant that may have one.
        """
        live = {v for v in graph.inputs if _may_have_grad(v)}
        of_graph = [(v, isinstance(t, torch.nn.Parameter)) for v, t in graph.constants]
        live |= {v for v, is_parameter in of_graph if is_parameter or v.meta.requires_grad}
        start: Node | None = None
        for step in graph.nodes:
            if step.func in _GRAD_CHANGES:
                start = None if _enables(step) else step
                if start is not None:
                    self._idle.add(start)
                continue
            if any(v in live for v in values_in(step.args, step.kwargs)):
                live |= {v for v in leaves(step.outs) if type(v) is Value and _may_have_grad(v)}
                if start is not None:
                    self._idle.discard(start)

    def write(self, step: Node) -> None:
        """Write a change of a mode."""
        func = step.func
        if func in _GRAD_CHANGES:
            self._set_grad(step in self._idle or _enables(step))
        elif func is set_autocast or func is restore_autocast:
            self._set_autocast(step.args[0] if func is set_autocast else ())
        elif func is set_inference:
            warn(
                AnyshapeWarning(
                    f"the program of torch has no_grad in place of inference_mode at {step.site}",
                    code="AS712",
                )
            )
            self._set_grad(not step.args[0])
        elif func is torch.clear_autocast_cache:
            raise refuse("a call of torch.clear_autocast_cache", step)
        elif func is torch.set_default_dtype:
            raise refuse("a change of the default dtype", step, fix="give dtype= in the calls")
        elif func is leave_modes:
            raise refuse("a grad mode or autocast that is left changed", fix="use a with block")
        else:
            raise refuse(op_name(func), step)

    def _set_grad(self, enabled: bool) -> None:
        if enabled is not self._grad:
            self.found, self._grad = True, enabled
            self._writer.emit(SET_GRAD, (enabled,), None)

    def _set_autocast(self, state: Any) -> None:
        for node in reversed(self._entered):
            self._writer.emit(EXIT_AUTOCAST, (node,), None)
        self._entered = []
        keeps = bool(casts_kept(state))
        for device, dtype in autocast_devices(state).items():
            self.found = True
            args = (device, dtype, True, keeps)
            self._entered.append(self._writer.emit(ENTER_AUTOCAST, args, None))

    def close(self) -> None:
        """End with the modes of the beginning."""
        self._set_autocast(())
        self._set_grad(True)
