"""Indexing as torch does it: views one after the other, then one gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Value

if TYPE_CHECKING:
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Node

_ATEN: Final[Any] = torch.ops.aten
_ALL: Final = slice(None)
_PLAIN: Final = (int, SymInt, slice, type(None), type(...), Value)
_INDICES: Final = (torch.int64, torch.int32, torch.bool)


def write_index(writer: AtenWriter, step: Node) -> bool:
    """Write `x[items]`; False for an index that is not plain, which torch takes apart."""
    x, given = step.args
    items = list(given) if type(given) is tuple else [given]
    if type(x) is not Value or any(type(i) not in _PLAIN for i in items):
        return False
    tensors = [i for i in items if type(i) is Value]
    if any(i.meta.dtype not in _INDICES or not i.meta.shape for i in tensors):
        return False
    cuts = [i for i in items if type(i) is slice and not _is_all(i)]
    if (tensors and cuts) or any(type(n) is Value for i in cuts for n in _ends(i)):
        return False
    if sum(i is ... for i in items) > 1:
        return False
    _Views(writer, step, _spread(items, len(x.meta.shape))).write()
    return True


def _spread(items: list[Any], rank: int) -> list[Any]:
    """The items with an entry for every dimension."""
    taken = sum([_dims(i) for i in items])
    place = next((k for k, i in enumerate(items) if i is ...), len(items))
    return [*items[:place], *[_ALL] * (rank - taken), *items[place + 1 :]]


def _dims(item: Any) -> int:
    """How many dimensions an item indexes."""
    if item is None or item is ...:
        return 0
    is_mask = type(item) is Value and item.meta.dtype is torch.bool
    return len(item.meta.shape) if is_mask else 1


def _is_all(item: Any) -> bool:
    return all(end is None for end in _ends(item))


def _ends(item: slice) -> tuple[Any, Any, Any]:
    return item.start, item.stop, item.step


class _Views:
    """The ops of one index, with the sizes and strides so far."""

    def __init__(self, writer: AtenWriter, step: Node, items: list[Any]) -> None:
        self.writer = writer
        self.step = step
        self.items = items
        self.base = writer.values[step.args[0]]
        self.wanted = writer.results(step)
        self.node = writer.node_arg(self.base)
        self.size = list(self.base.shape)
        self.stride = list(self.base.stride())

    def write(self) -> None:
        """Write the ops and note the result."""
        dim = 0
        gather: list[Any] = []
        start = self.node
        for item in self.items:
            kind = type(item)
            if kind in (int, SymInt):
                del self.size[dim], self.stride[dim]
                self._view(_ATEN.select.int, dim, self._number(item))
                continue
            if item is None:
                self.size.insert(dim, 1)
                self.stride.insert(dim, 1)
                self._view(_ATEN.unsqueeze.default, dim)
            elif kind is slice and not _is_all(item):
                self.size[dim], self.stride[dim] = self.wanted.shape[dim], self.wanted.stride()[dim]
                low, high, step = [self._number(n) for n in _ends(item)]
                rest = () if step is None else (step,)
                self._view(_ATEN.slice.Tensor, dim, low, high, *rest)
            if kind is Value:
                gather += [self.writer.node_of(item)]
                dim += _dims(item)
            else:
                gather.append(None)
                dim += 1
        if any(g is not None for g in gather):
            while gather[-1] is None:
                gather.pop()
            self.node = self.writer.emit(_ATEN.index.Tensor, (self.node, gather), self.wanted)
        elif self.node is start:
            self.node = self.writer.emit(_ATEN.alias.default, (self.node,), self.wanted)
        self.node.meta["val"] = self.wanted
        self.writer.note(self.wanted, self.node)
        self.writer.bind(self.step.outs, self.wanted)

    def _number(self, n: Any) -> Any:
        return self.writer.node_arg(self.writer.symbols.number(n))

    def _view(self, op: Any, *args: Any) -> None:
        base = self.base
        fake = self.writer.fakes.make(self.size, self.stride, base.dtype, base.device)
        self.node = self.writer.emit(op, (self.node, *args), fake)
