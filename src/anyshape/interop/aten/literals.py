"""`torch.tensor` of symbolic numbers: torch's own would ask for their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.graph.graph import SYMBOLIC, leaves

if TYPE_CHECKING:
    from torch import fx

    from anyshape.interop.aten.writer import AtenWriter
    from anyshape.trace.graph.graph import Node

_ATEN: Final[Any] = torch.ops.aten


def write_literal(writer: AtenWriter, step: Node) -> bool:
    """Write a tensor of nested lists of numbers; False if all of them are plain."""
    if not any(type(x) in SYMBOLIC for x in leaves(step.args[:1])):
        return False
    wanted = writer.results(step)
    node = _write(writer, step.args[0], wanted.dtype, wanted.device)[0]
    node.meta["val"] = wanted
    writer.note(wanted, node)
    writer.bind(step.outs, wanted)
    return True


def _write(
    writer: AtenWriter, x: Any, dtype: torch.dtype, device: torch.device
) -> tuple[fx.Node, list[int]]:
    """The node and the shape of a part."""
    if type(x) not in (list, tuple):
        number = writer.node_arg(writer.symbols.number(x))
        fake = writer.fakes.make([], None, dtype, device)
        made = writer.emit(_ATEN.scalar_tensor.default, (number,), fake, dtype=dtype, device=device)
        return made, []
    parts = [_write(writer, part, dtype, device) for part in x]
    shape = [len(parts), *(parts[0][1] if parts else [])]
    fake = writer.fakes.make(shape, None, dtype, device)
    return writer.emit(_ATEN.stack.default, ([node for node, _ in parts],), fake), shape
