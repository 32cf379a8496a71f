"""Which gradients the results of a program have: from which inputs each of them is computed.

Autograd asks an op for the gradients that follow from the results that were used, and leaves the
others None. A compiled program is one op: its backward computes all gradients, zeros where no used
result depends on an input. `Histories` makes these None again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.graph.graph import Value, leaves, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Graph

_COMPILED: Final = "CompiledFunctionBackward"  # what torch calls the backward of a whole program


def sources_of(graph: Graph) -> dict[Value, frozenset[Value]]:
    """For each value with gradients the inputs and constants that its gradient may flow to."""
    given = [*graph.inputs, *[value for value, _ in graph.constants]]
    found = {v: frozenset((v,)) for v in given if v.meta.requires_grad}
    written: dict[Value, frozenset[Value]] = {}  # by memory that the program writes
    nothing: frozenset[Value] = frozenset()

    def known(v: Value) -> frozenset[Value]:
        return found.get(v, nothing) | written.get(v.root, nothing)

    for node in graph.nodes:
        operands = values_in(node.args, node.kwargs)
        sources = nothing.union(*map(known, operands))
        made = [leaf for leaf in leaves(node.outs) if type(leaf) is Value]
        found.update({v: sources for v in made if v.meta.requires_grad})
        for v in operands:
            if v.root.version > node.epoch:
                written[v.root] = written.get(v.root, nothing) | sources
    return {v: known(v) for v in (*found, *_leaves(graph.outputs)) if known(v)}


def has_separate_histories(graph: Graph) -> bool:
    """Whether results have no input with gradients in common: eager execution frees the history of
    each in a backward pass of its own, a compiled program that of all at once.
    """
    sources = sources_of(graph)
    groups: list[frozenset[Value]] = []
    for v in dict.fromkeys(_leaves(graph.outputs)):
        own = sources.get(v, frozenset())
        if own and v.node is not None:
            joined = [group for group in groups if group & own]
            groups = [group for group in groups if not group & own]
            groups.append(own.union(*joined))
    return len(groups) > 1


class Histories:
    """The `outputs` of a program that is compiled as a whole, each with the inputs that its
    gradient flows to. The tensors are the last arguments of the compiled function.
    """

    def __init__(self, captured: Captured, outputs: Sequence[Any]) -> None:
        graph = captured.graph
        sources = sources_of(graph)
        given = [leaf.value for leaf in captured.inputs.leaves if leaf.value is not None]
        self._given = {v: i - len(given) for i, v in enumerate(given) if v.meta.requires_grad}
        self._constants = {v: x for v, x in graph.constants if v.meta.requires_grad}
        self._outputs = [
            (place, sources[leaf])
            for place, leaf in enumerate(outputs)
            if type(leaf) is Value and leaf in sources
        ]

    @property
    def differ(self) -> bool:
        """Whether a gradient may be asked for that does not flow to all inputs."""
        return len({own for _, own in self._outputs}) > 1

    def kept_by(self, compiled: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """The compiled function, with a backward that leaves gradients None as eager execution
        does.
        """

        def run(*args: Any) -> Sequence[Any]:
            results = compiled(*args)
            if torch.is_grad_enabled():
                self._watch(results, args)
            return results

        return run

    def _watch(self, results: Sequence[Any], args: Sequence[Any]) -> None:
        tensors = {v: args[place] for v, place in self._given.items()} | self._constants
        edges: dict[Any, frozenset[Value]] = {}  # an input and a constant may be one tensor
        for v, x in tensors.items():
            if x.requires_grad:
                edge = _edge(x)
                edges[edge] = edges.get(edge, frozenset()) | {v}
        flows: dict[int, frozenset[Value]] = {}  # by the results of the node
        node: Any = None
        for place, own in self._outputs:
            for end, number in _ends(results[place], edges):
                node = end
                flows[number] = flows.get(number, frozenset()) | own
        if node is not None:
            asked = [edges.get(edge) for edge in node.next_functions]
            node.register_hook(lambda grads, tangents: _needed(grads, tangents, asked, flows))


def _ends(x: Any, edges: Container[Any]) -> Iterator[tuple[Any, int]]:
    """The compiled function's node where the history of a result, which may be a view, begins, with
    the number of what it gave. Nothing for a history that begins at an input.
    """
    todo = [_edge(x)] if isinstance(x, torch.Tensor) and x.requires_grad else []
    while todo:
        edge = todo.pop()
        if edge in edges or edge[0] is None:
            continue
        if type(edge[0]).__name__ == _COMPILED:
            yield edge
        else:
            todo += edge[0].next_functions


def _edge(x: torch.Tensor) -> tuple[Any, int]:
    edge = torch.autograd.graph.get_gradient_edge(x)
    return edge.node, edge.output_nr


def _needed(
    grads: Sequence[Any],
    tangents: Sequence[Any],
    asked: Sequence[frozenset[Value] | None],
    flows: dict[int, frozenset[Value]],
) -> tuple[Any, ...] | None:
    """The gradients that follow from the tangents that there are, None for the others."""
    used = [number for number, x in enumerate(tangents) if x is not None]
    if any(number not in flows for number in used):  # an input that changed
        return None
    reached: frozenset[Value] = frozenset().union(*[flows[number] for number in used])
    pairs = zip(grads, asked, strict=True)
    return tuple([g if own is None or own & reached else None for g, own in pairs])


def _leaves(outputs: Any) -> list[Value]:
    return [leaf for leaf in leaves(outputs) if type(leaf) is Value]
