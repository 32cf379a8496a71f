"""Calls of torch that get graphs, for the branches and loops of a program."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from anyshape.interop.aten.changed_memory import ChangedMemory, changes_of
from anyshape.interop.aten.writer import AtenWriter
from anyshape.torch_compat import pytree
from anyshape.torch_compat.higher_order import OPERATORS
from anyshape.torch_compat.sympy_expression import CallMethodKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.interop.aten.higher_order import Inner


def same_number(n: Any, m: Any) -> bool:
    """Whether two numbers of torch's are the same expression."""
    a, b = [x.node.expr if hasattr(x, "node") else x for x in (n, m)]
    return bool(a == b)


def call_graphs(writer: AtenWriter, name: str, args: tuple[Any, ...], vals: list[Any]) -> Any:
    """Write a higher-order call, and take its results apart."""
    node = writer.emit(OPERATORS[name], args, tuple(vals))
    bindings: dict[Any, Any] = {}
    for i, val in enumerate(vals):
        part = writer.emit(operator.getitem, (node, i), val)
        key: tuple[Any, ...] = (pytree.SequenceKey(i),)
        if not isinstance(val, torch.Tensor):
            writer.numbers.made[val.node.expr] = part
            bindings[val.node.expr] = key
            continue
        writer.note(val, part)
        for dim, n in enumerate(val.shape):
            e = n.node.expr if hasattr(n, "node") else None
            if e is not None and e.is_Symbol and not writer.knows(e):
                writer.numbers.places[e] = (part, dim)
                bindings[e] = (*key, CallMethodKey("size"), pytree.SequenceKey(dim))
    if bindings:
        node.meta["unbacked_bindings"] = bindings
    return node


def has_effects(graph: Inner) -> bool:
    """Whether a graph does more than give results, such as an assert or a draw."""
    calls = [node for node in graph.writer.fx.nodes if node.op == "call_function"]
    return any(node.is_impure() or node.target in OPERATORS.values() for node in calls)


def outer_roots(writer: AtenWriter, results: Sequence[Any]) -> set[Any]:
    """The nodes around a graph whose memory its results may have."""
    found = [changes_of(writer).outer_root(x) for x in results]
    return {node for node in found if node is not None}


def graph_in(writer: AtenWriter) -> AtenWriter:
    """A graph inside that of a writer, which may change the tensors there."""
    inner = AtenWriter(writer.symbols, writer)
    inner.changed = ChangedMemory(inner)
    return inner
