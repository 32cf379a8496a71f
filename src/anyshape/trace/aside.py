"""Calls that are traced and do not stay in the graph: a rule's own, or those of a body."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyshape.errors import UnsupportedError
from anyshape.refusal import refused
from anyshape.trace.graph.graph import Name, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.graph.graph import Node
    from anyshape.trace.tracer import Tracer


@contextmanager
def aside(tracer: Tracer) -> Iterator[list[Node]]:
    """Take the nodes that are written inside out of the graph, into the list that is given."""
    nodes: list[Node] = []
    start = len(tracer.graph.nodes)
    modes, set_ = tracer.modes, dict(tracer._set)
    try:
        yield nodes
        if tracer.modes[-1] != modes[-1]:
            raise refused(
                UnsupportedError,
                "a function that is a part of a call changes settings of the process",
                fix="change them in a with block",
            )
    finally:
        nodes += tracer.graph.nodes[start:]
        del tracer.graph.nodes[start:]
        tracer.set_modes(modes)
        tracer._set = set_


@contextmanager
def unrecorded(tracer: Tracer) -> Iterator[None]:
    """Forget the nodes that are written inside; what only they would give is refused."""
    with aside(tracer) as nodes:
        yield
    if any(type(leaf) is Name for node in nodes for leaf in leaves(node.outs)):
        raise refused(
            UnsupportedError,
            "a shape rule uses a value that only the run knows",
            fix="register a fake that calls torch.library.get_ctx().new_dynamic_size()",
        )
