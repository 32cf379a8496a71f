"""A call of a traced op with its time, as an event."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from anyshape.env.site import user_site
from anyshape.events import OpCall, emit

if TYPE_CHECKING:
    from anyshape.trace.tracer import Tracer


def timed_call(
    tracer: Tracer, row: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call the row that handles `func`, and emit an `OpCall`.

    The site is that of the node that the call recorded, if it recorded one and no others.
    """
    nodes = tracer.graph.nodes
    count = len(nodes)
    start = perf_counter_ns()
    try:
        return row(tracer, func, args, kwargs)
    finally:
        spent = perf_counter_ns() - start
        site = None
        if len(nodes) == count + 1 and nodes[-1].func is func:
            site = nodes[-1].site
        called = (tracer, func, row, site or user_site(2), start, spent)
        emit(tuple.__new__(OpCall, called))  # what a named tuple does in Python, done in C
