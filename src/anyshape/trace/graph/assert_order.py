"""Where a program changes something outside between its runtime asserts.

An assert that fails is an error of the program, so that what comes before it has happened, and what
follows has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.env.fact import BY_RULE
from anyshape.expr.traverse import names_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.env import Obligation
    from anyshape.trace.graph.graph import Graph


def changes_before(asserts: Sequence[Obligation], graph: Graph) -> list[tuple[int, int]]:
    """The place of each change, and the number of facts that were recorded before it.

    Empty if all changes come after the last fact.
    """
    recorded = next((o.recorded for o in asserts if o.recorded), ())
    numbers = {id(fact): i for i, fact in enumerate(recorded)}
    changes = [
        (place, 1 + numbers.get(id(node.follows.fact), -1))
        for place, node in enumerate(graph.nodes)
        if node.follows is not None
    ]
    return changes if any(count < len(recorded) for _, count in changes) else []


def is_order_seen(asserts: Sequence[Obligation], graph: Graph, bound: set[str]) -> bool:
    """Whether an assert may fail after a change, when the inputs were found to fit.

    The symbols in `bound` are those of the inputs: what rules need of them is known before a run.
    """
    changes = changes_before(asserts, graph)
    if not changes:
        return False
    recorded = next(o.recorded for o in asserts if o.recorded)[changes[0][1] :]
    return any(
        fact.origin not in BY_RULE or not bound.issuperset(names_of(fact.condition))
        for fact in recorded
    )
