"""Bodies of higher-order calls, as plain data and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import AnyshapeError, LoadError
from anyshape.export.files import checked
from anyshape.trace.graph.graph import Graph, Name, Value
from anyshape.trace.higher_order.body import Body

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS: Final = ("asserts", "nodes", "outputs", "parameters")


def encode(body: Body, node: Any, arg: Any, outs: Any, obligation: Any) -> dict[str, Any]:
    """The data of a body, by the functions that write nodes, arguments, results and asserts."""
    given = {id(x) for x in body.given()}
    parameters = [outs(x) if type(x) is Name or id(x) in given else arg(x) for x in body.parameters]
    return {
        "asserts": [obligation(o) for o in body.asserts],
        "nodes": [node(n) for n in body.graph.nodes],
        "outputs": [arg(x) for x in body.graph.outputs],
        "parameters": parameters,
    }


def decode(
    data: Any, where: str, reader: Any, depth: int, parameter: Callable[[Any, str], Any]
) -> Body:
    """The body in the data; `reader` reads its parts."""
    if depth > checked.MAX_DEPTH:
        raise LoadError(f"{where} is nested too deeply")
    asserts_, nodes, outputs, parameters_ = checked.fields(data, _FIELDS, where)
    graph = Graph()
    parameters = [parameter(x, where) for x in checked.items(parameters_, where)]
    names = [str(x) for x in parameters]
    if len(set(names)) != len(names):
        raise LoadError(f"{where} has a parameter twice")
    asserts = reader.scope.obligations(asserts_, where)
    graph.inputs = [x for x in parameters if type(x) is Value]
    for i, node in enumerate(checked.items(nodes, where)):
        graph.nodes.append(reader.node(node, f"{where}, node {i}"))
    graph.outputs = [reader.arg(x, where) for x in checked.items(outputs, where)]
    try:
        graph.verify()
    except AnyshapeError as e:
        raise LoadError(f"{where}: {e.what[:300]}") from e
    body = Body(graph, parameters, asserts)
    body.compile()
    return body
