"""Sizes that a call makes, read off its results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import AnyshapeError
from anyshape.expr.terms import terms
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Name, Value, leaves, place_of

if TYPE_CHECKING:
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.tracer import Tracer


def bind_fresh_sizes(tracer: Tracer, node: Node) -> None:
    """Read the fresh sizes off the results of a node."""
    fresh, tracer._fresh = tracer._fresh, []
    for n, func, args in fresh:
        place = place_of(n, node.outs)
        if place is not None:
            read = tracer.emit(torch.Tensor.size, place)
        elif func is not None:
            read = tracer.emit(func, args)
        elif (parts := _multiple_of(n, node.outs)) is not None:
            read = tracer.emit(part_of_size, parts)
        else:
            raise AnyshapeError(f"{node} does not show the size {n} that it makes")
        read.outs = Name(next(iter(terms(n.expr))).name)


def _multiple_of(n: SymInt, outs: Any) -> tuple[Value, int, int, int] | None:
    """The result, the dimension, `factor` and `constant` where `factor * n + constant` stands."""
    for value in leaves(outs):
        for dim, m in enumerate(value.meta.shape if type(value) is Value else ()):
            if type(m) is SymInt and list(parts := terms(m.expr)) == list(terms(n.expr)):
                return value, dim, next(iter(parts.values())), m.expr.c
    return None


def part_of_size(t: torch.Tensor, dim: int, factor: int, constant: int) -> int:
    """The integer `n` of a size that is `factor * n + constant`."""
    return (t.size(dim) - constant) // factor
