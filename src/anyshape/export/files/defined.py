"""Whether every symbol of a loaded graph is defined before its use, in bodies too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import LoadError
from anyshape.export.files.outlet import OUTLETS
from anyshape.expr.traverse import names_of
from anyshape.trace.graph.graph import SYMBOLIC, Name, leaves, operand_of
from anyshape.trace.higher_order.body import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.env import Obligation
    from anyshape.trace.graph.graph import Graph


def need_defined(
    where: str, graph: Graph, asserts: Sequence[Obligation], known: Iterable[str]
) -> None:
    """Raise unless every symbol is in `known` or defined before it is used."""
    names = set(known)
    due: dict[str, list[Any]] = {}
    for o in asserts:
        due.setdefault(o.symbol, []).append(o.condition)
    first = [name for name in due if name in names or not name]
    need(where, [p for name in first for p in due.pop(name)], names, "the asserts")
    for i, node in enumerate(graph.nodes):
        parts = list(leaves((node.args, node.kwargs)))
        need(where, [operand_of(x) for x in parts if type(x) in SYMBOLIC], names, f"node {i}")
        for body in parts:
            if type(body) is Body:
                own = [str(x) for x in body.parameters if type(x) is Name]
                need_defined(f"{where}, a body of node {i}", body.graph, body.asserts, own)
        for name in leaves(node.outs):
            if type(name) is Name and node.func not in OUTLETS:
                if name in names:
                    raise LoadError(f"{where}, node {i} defines {name} again")
                names.add(str(name))
                need(where, due.pop(name, []), names, "an assert")
    outputs = [tuple(x) if isinstance(x, tuple) else x for x in graph.outputs]
    rest = [operand_of(x) for x in leaves(outputs) if type(x) in SYMBOLIC]
    need(where, rest, names, "the outputs")
    called = leaves([[s.inputs, s.outputs] for s in graph.signatures])
    need(where, [operand_of(x) for x in called if type(x) in SYMBOLIC], names, "the signatures")
    need(where, [p for left in due.values() for p in left], names, "the asserts")


def need(where: str, operands: list[Any], known: set[str], what: str) -> None:
    """Raise unless all symbols of the operands are known."""
    missing = set(names_of(*operands)) - known if operands else None
    if missing:
        raise LoadError(f"{where}: {sorted(missing)[0]} is not defined before its use in {what}")
