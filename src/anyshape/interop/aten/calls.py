"""`CallWriter`: the calls of a graph one after the other, with what is written between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.domain import INF, NINF, Interval
from anyshape.interop.aten.call_signatures import CallSignatures
from anyshape.interop.aten.higher_order import (
    HIGHER_ORDER,
    Inner,
    bodies_in,
    outputs_of,
    take_parameters,
    write_higher_order,
)
from anyshape.interop.aten.index import write_index
from anyshape.interop.aten.literals import write_literal
from anyshape.interop.aten.reads import natural_range, write_read
from anyshape.interop.aten.regions import Regions
from anyshape.interop.aten.symbols import refuse
from anyshape.interop.aten.transform import write_transform
from anyshape.interop.aten.writer import AtenWriter, sizes_in
from anyshape.interop.fx_graph import LEFT_OUT
from anyshape.trace.graph.graph import Name, Value, leaves, names_object, op_name
from anyshape.trace.higher_order.runtime import RUNNERS
from anyshape.trace.mode.execution_modes import MODE_CHANGES
from anyshape.trace.path.respelled import same_number, same_tensor
from anyshape.trace.record.effect.effect import EFFECTS, raise_unless
from anyshape.trace.sequence import list_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env import Obligation
    from anyshape.interop.aten.asserts import Asserts
    from anyshape.interop.aten.module_stacks import ModuleStacks
    from anyshape.interop.aten.regions import Modes
    from anyshape.trace.graph.graph import Graph, Node
    from anyshape.trace.higher_order.body import Body

_FOREIGN: Final = (EFFECTS - {raise_unless, torch.range}) | frozenset(list_call.CALLS)
_RESPELLED: Final = (same_number, same_tensor)
_BY_HAND: Final[dict[Any, Any]] = {
    torch.Tensor.__getitem__: write_index,
    torch.tensor: write_literal,
}
# Python's binding makes no op of it for a tensor that is contiguous, which another kernel of torch
# for the op before it may not give.
_DIRECT: Final[dict[Any, Any]] = {torch.Tensor.contiguous: torch.ops.aten.contiguous.default}


class CallWriter:
    """Writes the calls of a graph."""

    def __init__(self, writer: AtenWriter, asserts: Asserts, stacks: ModuleStacks) -> None:
        self.writer = writer
        self.asserts = asserts
        self.stacks = stacks
        self.regions = Regions(writer)
        self.signatures = CallSignatures(writer, stacks)

    def prepare(self, graph: Graph) -> None:
        """Make the symbols and the results of all calls, before the block that records: torch's
        numbers are slow in it.
        """
        writer = self.writer
        for step in graph.nodes:
            if step.func is same_number:
                writer.symbols.numbers[str(step.outs)] = writer.symbols.number(step.args[0])
                continue
            for name in sizes_in(step.outs):
                if not names_object(name):
                    writer.symbols.mint(str(name), natural_range(step))
        for step in graph.nodes:
            if step.func in HIGHER_ORDER:
                for body, own in bodies_in(step):
                    for name in [x for x in own if type(x) is Name]:
                        writer.symbols.mint(str(name), Interval(NINF, INF))
                    self.prepare(body.graph)
            writer.prepare(step)
        self.regions.prepare(graph)

    def write_guards(self, guards: list[Obligation]) -> None:
        """Write what a program requires of its inputs."""
        self.writer.meta = {"nn_module_stack": self.stacks.top}
        self.asserts.write_guards(guards)

    def write(self, graph: Graph, modes: Modes | None = None) -> None:
        """Write all calls, in a block that records; of a part of a program, which begins in some
        modes.
        """
        writer = self.writer
        writer.meta = {"nn_module_stack": self.stacks.top}
        self.asserts.bound()
        if modes is not None:
            self.regions.begin(modes)
        steps = [step for step in graph.nodes if step.func not in LEFT_OUT]
        self.signatures.prepare(graph, steps)
        for step in steps:
            self.signatures.enter(step, in_region=self.regions.is_open)
            writer.meta = self.stacks.meta(step)
            self._step(step)
            self.signatures.leave(step)
        writer.meta = {"nn_module_stack": self.stacks.top}
        self.regions.close()

    def write_body(self, body: Body, own: Sequence[Any], keep: Sequence[bool]) -> Inner:
        """Write the graph of a function that a call gets; see `higher_order.py`."""
        writer = AtenWriter(self.writer.symbols, self.writer)
        names = [str(x) for x in body.parameters if type(x) is Name]
        calls = CallWriter(writer, self.asserts.inner(writer, body.asserts, names), self.stacks)
        take_parameters(writer, own)
        calls.regions.prepare(body.graph)
        with writer.recording():
            calls.write(body.graph)
            kept = [x for x, k in zip(body.graph.outputs, keep, strict=True) if k]
            outputs = outputs_of(writer, [writer.arg(x) for x in kept])
        writer.has_regions |= calls.regions.found
        return Inner(writer, outputs)

    def _step(self, step: Node) -> None:
        func, writer = step.func, self.writer
        if func in MODE_CHANGES:
            self.regions.write(step)
        elif func is raise_unless:
            holds, kind, args = step.args[:3]
            message = f"{kind.object.__name__}: {', '.join(map(str, args))}"
            self.asserts.write(writer.symbols.number(holds), message)
        elif func in _FOREIGN:
            raise refuse(f"{op_name(func)}, which is no op of torch", step)
        elif func in RUNNERS:
            if func in HIGHER_ORDER:
                write_higher_order(self, step)
            else:
                write_transform(writer, step)
            names = [x for x in sizes_in(step.outs) if not names_object(x)]
            self.asserts.bound(*map(str, names))
        elif func in _RESPELLED:
            self._respell(step)
        elif names := sizes_in(step.outs):
            if any(type(x) is Value for x in leaves(step.outs)):
                raise refuse(f"{op_name(func)}, which gives tensors and numbers", step)
            write_read(writer, step)
            self.asserts.bound(*map(str, names))
        elif func in _DIRECT:
            writer.write(step, _DIRECT[func])
        elif func not in _BY_HAND or not _BY_HAND[func](writer, step):
            writer.call(step, func, writer.arg(step.args), writer.arg(step.kwargs))

    def _respell(self, step: Node) -> None:
        """Note what is passed on under another name."""
        if step.func is same_number:
            self.asserts.bound(str(step.outs))
        else:
            self.writer.values[step.outs] = self.writer.values[step.args[0]]
