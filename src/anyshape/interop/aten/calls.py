"""`CallWriter`: the calls of a graph one after the other, with what is written between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.interop.aten.asserts import Asserts
from anyshape.interop.aten.index import write_index
from anyshape.interop.aten.literals import write_literal
from anyshape.interop.aten.reads import write_read
from anyshape.interop.aten.regions import Regions
from anyshape.interop.aten.symbols import refuse
from anyshape.interop.aten.writer import sizes_in
from anyshape.interop.fx_graph import LEFT_OUT
from anyshape.trace.execution_modes import MODE_CHANGES
from anyshape.trace.graph import Value, leaves, op_name
from anyshape.trace.higher_order.run import RUNNERS
from anyshape.trace.record.effect import EFFECTS, raise_unless

if TYPE_CHECKING:
    from anyshape.interop.aten.module_stacks import ModuleStacks
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph import Graph, Node

_FOREIGN: Final = EFFECTS - {raise_unless, torch.range}
_BY_HAND: Final[dict[Any, Any]] = {
    torch.Tensor.__getitem__: write_index,
    torch.tensor: write_literal,
}
# Python's binding makes no op of it for a tensor that is contiguous, which another kernel of torch
# for the op before it may not give.
_DIRECT: Final[dict[Any, Any]] = {torch.Tensor.contiguous: torch.ops.aten.contiguous.default}


class CallWriter:
    """Writes the calls of a program."""

    def __init__(self, writer: AtenWriter, captured: Captured, stacks: ModuleStacks) -> None:
        self._writer = writer
        self._captured = captured
        self._stacks = stacks
        self._asserts = Asserts(writer, captured)
        self.regions = Regions(writer)

    def prepare(self, graph: Graph) -> None:
        """Make the symbols and the results of all calls, before the block that records: torch's
        numbers are slow in it.
        """
        writer = self._writer
        for step in graph.nodes:
            for name in sizes_in(step.outs):
                writer.symbols.mint(str(name))
        for step in graph.nodes:
            writer.prepare(step)
        self.regions.prepare(graph)

    def write(self, graph: Graph) -> None:
        """Write all calls, in a block that records."""
        writer = self._writer
        writer.meta = {"nn_module_stack": self._stacks.top}
        self._asserts.write_guards(self._captured.guards)
        self._asserts.bound()
        for step in graph.nodes:
            writer.meta = self._stacks.meta(step)
            self._step(step)
        writer.meta = {"nn_module_stack": self._stacks.top}
        self.regions.close()

    def _step(self, step: Node) -> None:
        func, writer = step.func, self._writer
        names = sizes_in(step.outs)
        if func in LEFT_OUT:
            return
        if func in MODE_CHANGES:
            self.regions.write(step)
        elif func is raise_unless:
            holds, kind, args = step.args[:3]
            message = f"{kind.object.__name__}: {', '.join(map(str, args))}"
            self._asserts.write(writer.symbols.number(holds), message)
        elif func in _FOREIGN:
            raise refuse(f"{op_name(func)}, which is no op of torch", step)
        elif func in RUNNERS:
            raise refuse(f"{op_name(func)}, which calls functions", step)
        elif names:
            if any(type(x) is Value for x in leaves(step.outs)):
                raise refuse(f"{op_name(func)}, which gives tensors and numbers", step)
            write_read(writer, step)
            self._asserts.bound(*map(str, names))
        elif func in _DIRECT:
            writer.write(step, _DIRECT[func])
        elif func not in _BY_HAND or not _BY_HAND[func](writer, step):
            writer.call(step, func, writer.arg(step.args), writer.arg(step.kwargs))
