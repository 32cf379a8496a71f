"""Layouts of the tensors that cross the border of a part, as compiled code takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.interop.fakes import order_of
from anyshape.tensor.layout import bare_strides, is_certain
from anyshape.trace.graph.graph import CONSTANT, INPUT

if TYPE_CHECKING:
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Value

    Layout = tuple[tuple[int, ...] | None, tuple[Any, ...] | None]


class Layouts:
    """The layout of each value: the order of the dimensions of a dense tensor, else its strides.

    Inputs are laid out as those of this call, which is a guard of the lowering; constants as they
    are; results as the trace says.
    """

    def __init__(self, captured: Captured, flat: list[Any]) -> None:
        leaves = captured.inputs.leaves
        self._given: dict[Value, Any] = {
            leaf.value: x for leaf, x in zip(leaves, flat, strict=True) if leaf.value is not None
        }
        self._given.update(captured.graph.constants)
        self._known: dict[Value, Layout | None] = {}

    def of(self, v: Value) -> Layout | None:
        """The order or the strides, the other being None.

        None where the trace is uncertain, and for a constant that is a lazy conjugate.
        """
        if v not in self._known:
            self._known[v] = self._find(v)
        return self._known[v]

    def strides(self, v: Value) -> tuple[Any, ...]:
        """The strides of a tensor that is not dense; empty for others."""
        found = self.of(v)
        return (found and found[1]) or ()

    def requires_grad(self, v: Value) -> bool:
        """Whether gradients may flow into a value. A mutation can make them."""
        if v.kind == CONSTANT:
            return bool(self._given[v].requires_grad)
        dtype = v.meta.dtype
        mutated = v.root.version > 0 and (dtype.is_floating_point or dtype.is_complex)
        return bool(v.meta.requires_grad) or mutated

    def _find(self, v: Value) -> Layout | None:
        if v.kind == CONSTANT:
            tensor = self._given[v]
            return None if tensor.is_conj() or tensor.is_neg() else (None, tuple(tensor.stride()))
        if v.kind == INPUT:
            x = self._given[v]
            order = order_of(x)
            return (None, tuple(x.stride())) if order is None else (order, None)
        if not is_certain(v.meta):
            return None
        layout = v.meta.layout.found()
        if layout.strides is None:
            return layout.order or tuple(range(len(v.meta.shape))), None
        return None, bare_strides(v.meta)
