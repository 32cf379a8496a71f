"""Value numbering: which tensors of a graph are provably equal, so that one symbol serves for both.

Equal calls give equal values: the same pure function, on arguments with equal numbers, with no
mutation and no change of mode in between. A value whose memory was mutated after it was made equals
only itself, until the next mutation. Tensors from outside may share memory, so a mutation of one of
them counts for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.rules.dispatch.table import PURE
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import SYMBOLIC, Value, leaves, operand_of

if TYPE_CHECKING:
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.tracer import Tracer


def number(tracer: Tracer, value: Value) -> tuple[Value, int]:
    """A key that is equal only for values that are provably equal; memoized by the tracer."""
    node, root = value.node, value.root
    version = root.version if root.node is not None else tracer.outer_version
    if node is None or version > node.epoch or node.func not in PURE:
        return (value, version)
    found = tracer.memo.get(value)
    if found is None:
        found = tracer.memo[value] = first_equal(tracer, node, value)
    return (found, version)


def first_equal(tracer: Tracer, node: Node, value: Value) -> Value:
    """The corresponding result of the first call that equals the call which made this value."""
    memo = tracer.memo
    found = memo.get(node)
    if found is None:
        own = [leaf for leaf in leaves(node.outs) if type(leaf) is Value]
        key = (node.func, node.epoch, _key((node.args, node.kwargs), tracer))
        found = memo[node] = (memo.setdefault(key, own), own[0].index)
    results, start = found
    first: Value = results[value.index - start]  # the results of a call are numbered in order
    return first


def _key(tree: Any, tracer: Tracer) -> Any:
    kind = type(tree)
    if kind is tuple or kind is list:
        return tuple([_key(part, tracer) for part in tree])
    if kind is dict:
        return tuple([(k, _key(part, tracer)) for k, part in tree.items()])
    if kind is slice:
        return _key((tree.start, tree.stop, tree.step), tracer)
    if kind is Value:
        return number(tracer, tree)
    if kind is SymInt:
        return tree.expr
    if kind is SymBool:
        return tree.condition
    if kind is SymFloat:
        return tree.value
    if kind in SYMBOLIC:
        return (kind, tree.scalar, operand_of(tree))
    return (kind, tree)
