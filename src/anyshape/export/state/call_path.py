"""The paths of modules, given to the calls of modules in the graphs of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.trace.graph.graph import leaves
from anyshape.trace.higher_order.body import Body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anyshape.export.state.naming import Naming
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.graph.module_call import ModuleCall


def calls_of(variants: Sequence[Captured]) -> list[ModuleCall]:
    """The calls of modules that nodes are part of, those around them before them."""
    found: dict[int, ModuleCall] = {}
    for part in [part for variant in variants for part in variant.parts]:
        for node in nodes_of(part.graph.nodes):
            call = node.module_call
            if call is not None and id(call) not in found:
                found.update({id(c): c for c in call.stack if id(c) not in found})
        for signature in part.graph.signatures:  # a call may have no nodes
            found.update({id(c): c for c in signature.call.stack if id(c) not in found})
    return list(found.values())


def nodes_of(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes and those of the bodies among their arguments."""
    for node in nodes:
        yield node
        for a in leaves((node.args, node.kwargs)):
            if type(a) is Body:
                yield from nodes_of(a.graph.nodes)


def name_calls(variants: Sequence[Captured], naming: Naming) -> None:
    """Give every call the path of its module, if that has a name."""
    unnamed = _name(calls_of(variants), naming)
    if unnamed:
        naming.attributes()
        _name(unnamed, naming)


def _name(calls: list[ModuleCall], naming: Naming) -> list[ModuleCall]:
    """Name calls; those whose modules have no name so far."""
    for call in calls:
        call.path = naming.modules.get(id(call.module))
    return [call for call in calls if call.path is None]
