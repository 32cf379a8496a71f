"""`CallSignatures`: the signatures of calls of modules, as torch's programs keep them.

A signature names the nodes that a call got and gave. Tensors have nodes anyway. A number gets its
node where the call begins, outside of it, or where it ends, inside of it: `torch.export.unflatten`
looks for them there. Nodes are marked, because those in other grad modes get new names at the end.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
from torch.export.graph_signature import (
    ConstantArgument,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.fx import GraphModule, Node

from anyshape.interop.aten.call_structure import need_plain_structure
from anyshape.interop.aten.symbols import refuse
from anyshape.torch_compat.exported_program import ModuleCallSignature

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anyshape.interop.aten.module_stacks import ModuleStacks
    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.call_signature import CallSignature
    from anyshape.trace.graph.graph import Graph
    from anyshape.trace.graph.graph import Node as Step

_MARK: Final = "anyshape_mark"
_KINDS: Final[dict[Any, Any]] = {
    torch.SymInt: SymIntArgument,
    torch.SymFloat: SymFloatArgument,
    torch.SymBool: SymBoolArgument,
}


class _Mark(NamedTuple):
    """A node, by the number of its mark."""

    number: int
    kind: Any


class CallSignatures:
    """The signatures of one program, while its calls are written."""

    def __init__(self, writer: AtenWriter, stacks: ModuleStacks) -> None:
        self._writer = writer
        self._stacks = stacks
        self._first: dict[Step, list[CallSignature]] = {}
        self._last: dict[Step, list[CallSignature]] = {}
        self._inputs: dict[int, list[Any]] = {}  # by the ids of calls
        self._found: list[tuple[CallSignature, list[Any], list[Any]]] = []
        self._count = 0

    def prepare(self, graph: Graph, steps: Sequence[Step]) -> None:
        """Find where the calls begin and end among the steps that are written."""
        if not graph.signatures:
            return
        ends: dict[int, tuple[Step, Step]] = {}
        for step in steps:
            for call in step.module_stack:
                ends[id(call)] = (ends.get(id(call), (step,))[0], step)
        for signature in graph.signatures:
            if id(signature.call) in ends:  # a call without nodes leaves no module
                for spec in (signature.in_spec, signature.out_spec):
                    need_plain_structure(spec, f"a call of {signature.call.path} with an object")
                first, last = ends[id(signature.call)]
                self._first.setdefault(first, []).append(signature)
                self._last.setdefault(last, []).append(signature)

    def enter(self, step: Step, *, in_region: bool) -> None:
        """Note what the calls get that begin with a step, which may be in another mode."""
        for signature in reversed(self._first.get(step, ())):  # the outermost first
            if in_region:
                path = signature.call.path
                raise refuse(
                    f"the signature of {path} in another grad mode or under autocast",
                    step,
                    why="such a stretch is one call of torch, with a graph of its own",
                    fix=f"leave {path} out of preserve_module_call_signature",
                )
            self._writer.meta = self._stacks.around(signature.call)
            nodes = [self._writer.node_arg(self._writer.arg(x)) for x in signature.inputs]
            self._inputs[id(signature.call)] = [self._marked(x) for x in nodes]

    def leave(self, step: Step) -> None:
        """Note what the calls give that end with a step."""
        for signature in self._last.get(step, ()):
            self._writer.meta = self._stacks.within(signature.call)
            outputs = [self._marked(self._own(x)) for x in signature.outputs]
            self._found.append((signature, self._inputs[id(signature.call)], outputs))

    def _own(self, x: Any) -> Any:
        """The node of a result; a number is computed by the module itself."""
        writer = self._writer
        found = writer.arg(x)
        node = writer.node_arg(found)
        if type(found) not in _KINDS or not isinstance(node, Node) or type(found) is torch.SymBool:
            return node
        zero = 0.0 if type(found) is torch.SymFloat else 0
        made = writer.emit(operator.add, (node, zero), found)
        writer.numbers.made[found.node.expr] = made
        return made

    def _marked(self, x: Any) -> Any:
        if not isinstance(x, Node):
            return x
        if _MARK not in x.meta:
            x.meta[_MARK] = self._count
            self._count += 1
        return _Mark(x.meta[_MARK], _KINDS.get(type(x.meta["val"]), TensorArgument))

    def written(self, root: Any, graph: Any) -> dict[str, ModuleCallSignature]:
        """The signatures by the names of the calls, once the graph is complete."""
        nodes = {node.meta[_MARK]: node for node in graph.nodes if _MARK in node.meta}
        made = {}
        for signature, inputs, outputs in self._found:
            call = signature.call
            name = f"{call.path}@{call.number}" if call.number else str(call.path)
            made[name] = ModuleCallSignature(
                [_argument(x, nodes) for x in inputs],
                [_argument(x, nodes) for x in outputs],
                signature.in_spec,
                signature.out_spec,
            )
        for node in _all_nodes(root, graph) if self._count else ():
            node.meta.pop(_MARK, None)
        return made


def _argument(x: Any, nodes: dict[int, Node]) -> Any:
    """An argument as a signature names it; what is inside of a call of torch has no name."""
    if type(x) is not _Mark:
        return ConstantArgument("", x)
    return x.kind(nodes[x.number].name if x.number in nodes else "")


def _all_nodes(root: Any, graph: Any) -> Iterator[Node]:
    yield from graph.nodes
    for module in root.modules():
        if isinstance(module, GraphModule):
            yield from module.graph.nodes
