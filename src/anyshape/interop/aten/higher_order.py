"""Calls that take functions, as torch's higher-order ops whose functions are graphs.

A graph gets what its call gives anew on every round, then the nodes of the graph around it that it
uses. All graphs of a call have the same placeholders.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch import fx
from torch.fx import GraphModule

from anyshape.interop.aten.memory import memory_of
from anyshape.interop.aten.stretches import with_stretches
from anyshape.interop.aten.symbols import refuse
from anyshape.interop.aten.writer import SCALAR_TENSOR
from anyshape.torch_compat import pytree
from anyshape.torch_compat.higher_order import OPERATORS
from anyshape.torch_compat.pre_dispatch import ITEM
from anyshape.trace.graph.graph import Name, Value, op_name
from anyshape.trace.higher_order import runtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.interop.aten.calls import CallWriter
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.higher_order.body import Body

CLONE: Final[Any] = torch.ops.aten.clone.default

HIGHER_ORDER: Final[Any] = (runtime.cond, runtime.while_loop, runtime.map, runtime.scan)


class Inner(NamedTuple):
    """A graph that a call gets, as it was written, and its results as nodes."""

    writer: AtenWriter
    outputs: list[Any]


def bodies_in(step: Node) -> Iterator[tuple[Body, list[Any]]]:
    """The bodies of a call, with those of their parameters that the call gives on every round."""
    args = step.args
    pairs: dict[Any, Any] = {
        runtime.cond: ((1, 2), (3, 4)),
        runtime.while_loop: ((0, 1), (2, 3)),
        runtime.map: ((0, 1),),
        runtime.scan: ((0, 1),),
    }
    for at, captures in pairs[step.func]:
        body = args[at]
        yield body, body.parameters[: len(body.parameters) - len(args[captures])]


def take_parameters(writer: AtenWriter, own: Sequence[Any]) -> None:
    """Make the placeholders for what a call gives on every round."""
    for i, x in enumerate(own):
        if type(x) is Value:
            fake = writer.values[x] = writer.fakes.of(x.meta, own=True)
            writer.show(writer.placeholder(f"arg{i}", fake), fake)
        else:
            number = writer.symbols.numbers[str(x)]
            writer.numbers.made[number.node.expr] = writer.placeholder(f"arg{i}", number)


def as_node(writer: AtenWriter, x: Any) -> Any:
    """A value that a loop carries. A plain number is read off a tensor, because torch saves no list
    of numbers and nodes.
    """
    found = writer.node_arg(x)
    if type(found) is not int:
        return found
    fake = writer.fakes.make([], None, torch.int64, torch.device("cpu"))
    node = writer.emit(SCALAR_TENSOR, (found,), fake, dtype=torch.int64)
    number = writer.symbols.unnamed(found, found)
    item = writer.emit(ITEM, (node,), number)
    item.meta["unbacked_bindings"] = {number.node.expr: ()}
    return item


def own_memory(writer: AtenWriter, fake: Any, taken: set[fx.Node]) -> fx.Node:
    """A tensor that a graph returns. Of a view, of a tensor from around the graph and of one that
    is returned already, a copy: torch wants results with memory of their own, which begin where it
    begins.
    """
    node = writer.node_arg(fake)
    root = memory_of(node)
    if root is node and root.op != "placeholder" and root not in taken:
        taken.add(root)
        return node
    made = writer.fakes.make(fake.shape, None, fake.dtype, fake.device)
    return writer.emit(CLONE, (node,), made, memory_format=torch.contiguous_format)


def outputs_of(writer: AtenWriter, results: Sequence[Any]) -> list[Any]:
    """The results of a graph as nodes."""
    taken: set[fx.Node] = set()
    return [
        own_memory(writer, x, taken) if isinstance(x, torch.Tensor) else writer.node_arg(x)
        for x in results
    ]


def apart(writer: AtenWriter, nodes: Sequence[Any], taken: set[fx.Node]) -> list[Any]:
    """Operands of one call. Of a tensor that shares memory with one before it, a copy: torch takes
    no operands that share memory. `taken` has the nodes whose memory is given.
    """
    found = []
    for node in nodes:
        val = node.meta["val"] if isinstance(node, fx.Node) else None
        if not isinstance(val, torch.Tensor):
            found.append(node)
        elif (root := memory_of(node)) not in taken:
            taken.add(root)
            found.append(node)
        else:
            size, stride = list(val.shape), list(val.stride())
            made = writer.fakes.make(size, stride, val.dtype, val.device, own=True)
            found.append(writer.emit(CLONE, (node,), made))
    return found


class Graphs:
    """The graphs of one call, which get the same placeholders."""

    def __init__(self, outer: AtenWriter) -> None:
        self._outer = outer
        self.all: list[Inner] = []

    def operands(self, given: Sequence[Any] = ()) -> tuple[fx.Node, ...]:
        """What the graphs use of the graph around them, in one order for all. The call gets the
        nodes of `given` besides.
        """
        used = dict.fromkeys([node for inner in self.all for node in inner.writer.imports])
        for inner in self.all:
            writer = inner.writer
            for node in used:
                writer.take(node)
                made = writer.imports[node]
                if writer.last_placeholder is not made:
                    assert writer.last_placeholder is not None
                    writer.last_placeholder.append(made)
                    writer.last_placeholder = made
        taken = {memory_of(node) for node in given if isinstance(node, fx.Node)}
        return tuple(apart(self._outer, [*used], taken))

    def attributes(self, names: Sequence[str], *, test: bool = False) -> list[fx.Node]:
        """The graphs as attributes of the one around them; a `test` returns no tuple."""
        made = []
        for i, (name, (writer, outputs)) in enumerate(zip(names, self.all, strict=True)):
            result = outputs[0] if test and not i else tuple(outputs)
            writer.fx.output(result).meta["val"] = None
            root = self._outer.root
            path = f"{name}_{len(dict(root.named_children()))}"
            make = with_stretches if writer.has_regions else GraphModule
            root.add_module(path, make(writer.root, writer.fx))
            node = self._outer.fx.create_node("get_attr", path)
            node.meta.update(self._outer.meta)
            made.append(node)
        return made


def write_higher_order(calls: CallWriter, step: Node) -> None:
    """Write a call of one of `HIGHER_ORDER`."""
    _Call(calls, step).write()


class _Call:
    def __init__(self, calls: CallWriter, step: Node) -> None:
        self._calls = calls
        self._writer = calls.writer
        self._step = step
        self._name = op_name(step.func)
        self._graphs = Graphs(calls.writer)

    def write(self) -> None:
        """Write the graphs, the call, and its results."""
        step, args = self._step, self._step.args
        func: Any = step.func
        found = list(bodies_in(step))
        keep = self._keep(found[-1][0])
        for i, (body, own) in enumerate(found):
            is_test = func is runtime.while_loop and not i
            inner = self._calls.write_body(body, own, [True] if is_test else keep)
            self._graphs.all.append(inner)
        rounds = self._rounds()
        operands = self._graphs.operands([node for nodes in rounds for node in nodes])
        graphs = self._graphs.attributes(_NAMES[func], test=func is runtime.while_loop)
        if func is runtime.cond:
            given: tuple[Any, ...] = (self._node(args[0]), *graphs, operands)
        elif func is runtime.while_loop:
            given = (*graphs, tuple(rounds[0]), operands)
        else:
            given = (*graphs, *rounds, list(operands) if func is runtime.map else operands)
        self._bind(OPERATORS[_OPERATORS[func]], given, keep)

    def _rounds(self) -> list[list[Any]]:
        """What the rounds of a loop begin with and go over, as lists of nodes."""
        writer, args = self._writer, self._step.args
        places: dict[Any, tuple[int, ...]] = {
            runtime.while_loop: (4,),
            runtime.map: (2,),
            runtime.scan: (2, 3),
        }
        taken: set[fx.Node] = set()
        found = []
        for at in places.get(self._step.func, ()):
            values = [writer.arg(x) for x in args[at]]
            is_loop = self._step.func is runtime.while_loop
            nodes = [as_node(writer, x) if is_loop else writer.node_arg(x) for x in values]
            found.append(apart(writer, nodes, taken))
        return found

    def _keep(self, body: Body) -> list[bool]:
        """Which results of the bodies are results of the call. A number that is known is none, but
        a loop gives all that it carries.
        """
        outs, step = self._step.outs, self._step
        if step.func is runtime.while_loop:
            return [True] * len(outs)
        carried = step.args[4] if step.func is runtime.scan else 0
        return [
            i < carried or type(out) is Name or type(x) is Value
            for i, (out, x) in enumerate(zip(outs, body.graph.outputs, strict=True))
        ]

    def _node(self, x: Any) -> Any:
        return self._writer.node_arg(self._writer.arg(x))

    def _bind(self, op: Any, args: tuple[Any, ...], keep: Sequence[bool]) -> None:
        """Write the call, and take its results apart."""
        writer, step = self._writer, self._step
        outs = [out for out, k in zip(step.outs, keep, strict=True) if k]
        results = [r for r, k in zip(writer.results(step), keep, strict=True) if k]
        vals = [self._val(i, out, r) for i, (out, r) in enumerate(zip(outs, results, strict=True))]
        node = writer.emit(op, args, tuple(vals))
        bindings: dict[Any, Any] = {}
        for i, (out, val) in enumerate(zip(outs, vals, strict=True)):
            part = writer.emit(operator.getitem, (node, i), val)
            if type(out) is Name:
                writer.numbers.made[val.node.expr] = part
                bindings[val.node.expr] = (pytree.SequenceKey(i),)
            elif isinstance(val, torch.Tensor):
                writer.note(val, part)
                if out is not None:
                    writer.values[out] = val
        if bindings:
            node.meta["unbacked_bindings"] = bindings

    def _val(self, i: int, out: Any, result: Any) -> Any:
        """What a result is: a fake tensor, or a number that only the run knows."""
        if type(out) is Value:
            return result
        if type(out) is Name:
            number = self._writer.symbols.numbers[str(out)]
            if type(number) is not torch.SymInt:
                raise refuse(f"a float that {self._name} gives", self._step, fix="return a tensor")
            return number
        made = self._graphs.all[-1].outputs[i]
        val = getattr(made, "meta", {}).get("val", made)
        if isinstance(val, torch.Tensor):
            return self._writer.fakes.make(val.shape, None, val.dtype, val.device)
        return val


_NAMES: Final[dict[Any, tuple[str, ...]]] = {
    runtime.cond: ("true_graph", "false_graph"),
    runtime.while_loop: ("while_loop_cond_graph", "while_loop_body_graph"),
    runtime.map: ("map_body_graph",),
    runtime.scan: ("scan_combine_graph",),
}
_OPERATORS: Final[dict[Any, str]] = {
    runtime.cond: "cond",
    runtime.while_loop: "while_loop",
    runtime.map: "map_impl",
    runtime.scan: "scan",
}
