"""Stretches of a graph in another grad mode or under autocast, as calls of graphs: no other form of
them can be saved.

A graph with changes of these modes is written once more without them. All that follows each other
in the same modes is a graph of its own, which a higher-order op calls; in several modes, one call
is inside of another. The results keep their names.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import fx

from anyshape.torch_compat.aten_op import ASSERT_NOTHING
from anyshape.torch_compat.exported_program import (
    SET_GRAD,
    WITH_AUTOCAST,
    WITH_GRAD_MODE,
)
from anyshape.torch_compat.thread_state import ENTER_AUTOCAST, EXIT_AUTOCAST

if TYPE_CHECKING:
    from collections.abc import Sequence


Nodes = dict[fx.Node, fx.Node]


class _Mode(NamedTuple):
    """A call that runs a graph in a mode: the op, and what it gets before the graph."""

    op: Any
    args: tuple[Any, ...]


class _Stretch(NamedTuple):
    """Nodes that follow each other in the same modes; the outermost mode is the first."""

    modes: tuple[_Mode, ...]
    nodes: list[fx.Node]


def with_stretches(root: torch.nn.Module, graph: fx.Graph) -> fx.GraphModule:
    """The graph with a call for each of its stretches; `root` has the graphs that it calls."""
    return _Rewriter(root, graph).write()


def _stretches(graph: fx.Graph) -> list[_Stretch]:
    found = [_Stretch((), [])]
    grad, autocast = True, list[fx.Node]()
    for node in graph.nodes:
        if node.target is SET_GRAD:
            grad = node.args[0] is True
        elif node.target is ENTER_AUTOCAST:
            autocast.append(node)
        elif node.target is EXIT_AUTOCAST:
            autocast.remove(node.args[0])
        else:
            modes = [_Mode(WITH_AUTOCAST, entered.args) for entered in autocast]
            modes += [] if grad else [_Mode(WITH_GRAD_MODE, (False,))]
            if node.op in ("placeholder", "output"):
                modes = []
            if tuple(modes) != found[-1].modes:
                found.append(_Stretch(tuple(modes), []))
            found[-1].nodes.append(node)
    return found


class _Rewriter:
    def __init__(self, root: torch.nn.Module, graph: fx.Graph) -> None:
        self._old = root
        self._graph = graph
        self._root = torch.nn.Module()
        self._made = fx.Graph()
        self._names = {node.name for node in graph.nodes}
        self._stands: Nodes = {}

    def write(self) -> fx.GraphModule:
        """The new graph."""
        for modes, nodes in _stretches(self._graph):
            if modes:
                self._write_stretch(modes, nodes)
                continue
            for node in nodes:
                self._copy(node, self._made, self._root, self._stands)
        return fx.GraphModule(self._root, self._made)

    def _copy(self, node: fx.Node, to: fx.Graph, root: torch.nn.Module, stands: Nodes) -> None:
        """Copy a node, and the graph that it names."""
        stands[node] = to.node_copy(node, stands.__getitem__)
        if node.op == "get_attr":
            name = str(node.target)
            root.add_module(name, self._old.get_submodule(name))

    def _write_stretch(self, modes: Sequence[_Mode], nodes: list[fx.Node]) -> None:
        inside = set(nodes)
        results = [n for n in nodes if n.op != "get_attr" and not inside.issuperset(n.users)]
        used = dict.fromkeys([x for n in nodes for x in n.all_input_nodes if x not in inside])
        has_results = bool(results)
        if not has_results:
            tensors = [n for n in nodes if isinstance(n.meta.get("val"), torch.Tensor)]
            if modes[0].op is WITH_GRAD_MODE or not tensors:
                self._write_effects(modes[0], nodes, list(used))
                return
            results = tensors[-1:]
        root, graph, stands = torch.nn.Module(), fx.Graph(), Nodes()
        for x in used:
            if x.op == "get_attr":
                self._copy(x, graph, root, stands)
        given = [x for x in used if x.op != "get_attr"]
        for x in given:
            stands[x] = _placeholder(graph, x)
        for node in nodes:
            self._copy(node, graph, root, stands)
        graph.output(tuple(stands[n] for n in results))
        inner = fx.GraphModule(root, graph)
        for mode in reversed(modes[1:]):
            inner = _called(mode, inner, given, results)
        call = self._call(modes[0], inner, [self._stands[x] for x in given], nodes[0], results)
        for i, node in enumerate(results):
            part = self._made.create_node(
                "call_function", operator.getitem, (call, i), {}, node.name
            )
            part.meta = dict(node.meta)
            self._stands[node] = part
        if not has_results:
            last = self._stands[results[0]]
            kept = self._made.call_function(ASSERT_NOTHING, (last,))
            kept.meta.update(last.meta, val=None)

    def _call(
        self,
        mode: _Mode,
        inner: fx.GraphModule,
        given: Sequence[fx.Node],
        first: fx.Node,
        results: Sequence[fx.Node],
    ) -> fx.Node:
        path = self._new_name("stretch_graph")
        self._root.add_module(path, inner)
        attribute = self._made.create_node("get_attr", path, (), {}, path)
        name = self._new_name("stretch")
        return _call(self._made, mode, attribute, given, first, results, name)

    def _new_name(self, prefix: str) -> str:
        """A name that no node has, so that all nodes keep theirs."""
        count = 0
        while (name := f"{prefix}_{count}") in self._names:
            count += 1
        self._names.add(name)
        return name

    def _write_effects(self, mode: _Mode, nodes: list[fx.Node], used: list[fx.Node]) -> None:
        """Put the ops of a stretch without results in its place. They change tensors, or assert;
        passes of torch take a call in another grad mode for one without effects and drop it, so
        the ops get operands that are detached.
        """
        stands = dict(self._stands)
        if mode.op is WITH_GRAD_MODE:
            for x in used:
                if isinstance(x.meta.get("val"), torch.Tensor):
                    stands[x] = self._made.call_function(
                        torch.ops.aten.detach.default, (self._stands[x],)
                    )
                    stands[x].meta.update(nodes[0].meta, val=x.meta["val"])
        for node in nodes:
            self._copy(node, self._made, self._root, stands)


def _placeholder(graph: fx.Graph, x: fx.Node) -> fx.Node:
    made = graph.create_node("placeholder", x.name, (), {}, x.name)
    made.meta = dict(x.meta)
    return made


def _called(
    mode: _Mode, inner: fx.GraphModule, given: Sequence[fx.Node], results: Sequence[fx.Node]
) -> fx.GraphModule:
    """A graph that calls another one in a mode and gives its results."""
    root, graph = torch.nn.Module(), fx.Graph()
    operands = [_placeholder(graph, x) for x in given]
    root.add_module("stretch_graph", inner)
    attribute = graph.get_attr("stretch_graph")
    call = _call(graph, mode, attribute, operands, results[0], results, "stretch")
    parts = []
    for i, node in enumerate(results):
        part = graph.create_node("call_function", operator.getitem, (call, i), {}, node.name)
        part.meta = dict(node.meta)
        parts.append(part)
    graph.output(tuple(parts))
    return fx.GraphModule(root, graph)


def _call(
    graph: fx.Graph,
    mode: _Mode,
    attribute: fx.Node,
    operands: Sequence[fx.Node],
    first: fx.Node,
    results: Sequence[fx.Node],
    name: str,
) -> fx.Node:
    attribute.meta["nn_module_stack"] = first.meta.get("nn_module_stack", {})
    args = (*mode.args, attribute, *operands)
    call = graph.create_node("call_function", mode.op, args, {}, name)
    call.meta["nn_module_stack"] = attribute.meta["nn_module_stack"]
    kind = type(mode.op).__name__
    call.meta["torch_fn"] = (mode.op.__name__, f"{kind}.{mode.op.__name__}")
    call.meta["val"] = tuple(n.meta["val"] for n in results)
    return call
