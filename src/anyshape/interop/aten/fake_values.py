"""`FakeValues`: the tensors of a graph as fake tensors of torch, made from our own metadata.

No kernel runs for them. Tensors with equal sizes, strides and dtype share the memory-less tensor
below, which costs most of the time; the inputs of a program have one each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.tensor.layout import CONTIGUOUS, strides_of
from anyshape.torch_compat.exported_program import FakeTensor
from anyshape.torch_compat.pre_dispatch import no_dispatch
from anyshape.trace.graph.graph import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.interop.aten.symbols import TorchSymbols
    from anyshape.tensor.meta import Meta

_CPU = torch.device("cpu")


class FakeValues:
    """Makes the fake tensors of one program."""

    def __init__(self, symbols: TorchSymbols, like: FakeValues | None = None) -> None:
        self._symbols = symbols
        self._below: dict[Any, torch.Tensor] = {} if like is None else like._below

    def of(self, meta: Meta, *, own: bool = False) -> Any:
        """A fake tensor like a tensor of the graph."""
        number = self._symbols.number
        layout = meta.layout
        dense = layout is CONTIGUOUS or (layout.found().dense and layout.found().order is None)
        size = [number(n) for n in meta.shape]
        stride = None if dense else [number(n) for n in strides_of(meta)]
        return self.make(size, stride, meta.dtype, meta.device or _CPU, own=own)

    def make(
        self,
        size: Sequence[Any],
        stride: Sequence[Any] | None,
        dtype: torch.dtype,
        device: torch.device,
        *,
        own: bool = False,
    ) -> Any:
        """A fake tensor; dense if no strides are given."""
        if own:
            return FakeTensor(self._symbols.mode, _below(size, stride, dtype), device)
        numbers = size if stride is None else (*size, *stride)
        key = (dtype, len(size), *[n if type(n) is int else n.node.expr for n in numbers])
        below = self._below.get(key)
        if below is None:
            below = self._below[key] = _below(size, stride, dtype)
        return FakeTensor(self._symbols.mode, below, device)

    def pattern(self, outs: Any) -> Any:
        """The fake results of a call, in the structure of `outs`."""
        if type(outs) is Value:
            return self.of(outs.meta)
        return tuple([self.pattern(o) for o in outs]) if type(outs) is tuple else None


def _below(size: Sequence[Any], stride: Sequence[Any] | None, dtype: torch.dtype) -> torch.Tensor:
    with no_dispatch():
        if stride is None:
            return torch.empty(size, dtype=dtype, device="meta")
        return torch.empty_strided(size, stride, dtype=dtype, device="meta")
