"""Where a program may be cut into parts, and which cuts would be seen.

A part is compiled as a function of independent tensors. So of memory that the program writes, at
most one tensor may cross borders, and none if gradients are recorded: autograd would be asked for
the gradient of a tensor that has changed since. The execution modes at a border are those at the
start of the program. What a call does besides computing tensors is not for parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.interop.fx_graph import RESTORED, current_modes
from anyshape.interop.regions.part import NoRegionsError
from anyshape.trace.graph.graph import Value, leaves, op_name, values_in
from anyshape.trace.mode.execution_modes import MODE_CHANGES
from anyshape.trace.record.effect.effect import UNLOWERED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.interop.regions.part import Part
    from anyshape.trace.graph.graph import Graph, Node

_STATISTICS: Final = (F.batch_norm, torch.batch_norm, F.instance_norm, torch.instance_norm)


def need_plain_calls(graph: Graph) -> None:
    """Raise if a call does more than computing tensors."""
    for node in graph.nodes:
        if node.func in UNLOWERED:
            raise NoRegionsError(f"{op_name(node.func)} has an effect at {node.site}")


def uncut(nodes: Sequence[Node]) -> list[bool]:
    """Whether no border may be before each call, and at the end: the modes differ there."""
    start = current_modes()
    changed: set[Any] = set()
    found = []
    for node in nodes:
        found.append(bool(changed))
        if node.func in MODE_CHANGES:
            mode = RESTORED.get(node.func, node.func)
            if mode is not node.func or (mode in start and node.args[0] == start[mode]):
                changed.discard(mode)
            else:
                changed.add(mode)
    found.append(False)
    return found


def need_borders(parts: Sequence[Part]) -> None:
    """Raise if a border between these parts would be seen in memory that the program writes."""
    parts_of: dict[Value, list[Part]] = {}
    crossing: dict[Value, set[Value]] = {}
    for part in parts:
        values = {v for n in part.nodes for v in values_in(n.args, n.kwargs)}
        values |= {v for n in part.nodes for v in leaves(n.outs) if type(v) is Value}
        for root in {v.root for v in values if v.root.version > 0}:
            parts_of.setdefault(root, []).append(part)
        for v in (*part.ins, *part.outs):
            if type(v) is Value and v.root.version > 0:
                crossing.setdefault(v.root, set()).add(v)
    for root, crossed in crossing.items():
        if len(crossed) > 1:
            raise NoRegionsError(f"{root}, which the program writes, has views in several parts")
        if torch.is_grad_enabled():
            _need_unseen_by_autograd(root, parts_of[root])


def _need_unseen_by_autograd(root: Value, parts: list[Part]) -> None:
    """Raise unless what is written are statistics of one part, which have no gradients."""
    dtype = root.meta.dtype
    differentiable = dtype.is_floating_point or dtype.is_complex
    users = [n for n in parts[0].nodes if any(v.root is root for v in values_in(n.args, n.kwargs))]
    if root.node is not None or len(parts) > 1:
        raise NoRegionsError(f"{root}, which the program writes, is used in several parts")
    if differentiable and any(n.func not in _STATISTICS for n in users):
        raise NoRegionsError(f"{root}, which the program writes, may get gradients")
