"""`ChangedMemory`: what a graph of a branch or a loop changes of the tensors around it.

No graph that torch calls may change what it is given. The first change puts a copy of that tensor
at the start of the graph, which stands for it from there on, in the calls written before, too.
The graph returns the copy, and the graph around it copies the values back.

That is eager execution only if nothing else that the graph is given shares that memory
(`share_memory`). So the graph gets whole tensors and makes the views of them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch import fx

from anyshape.interop.aten.memory import changes_views, is_window, memory_of
from anyshape.torch_compat.aten_op import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anyshape.interop.aten.writer import AtenWriter

_CLONE: Final[Any] = torch.ops.aten.clone.default
_COPY: Final[Any] = torch.ops.aten.copy_.default


class ChangedMemory:
    """The `copies` of one graph, by the placeholders that they stand for; the `nodes` of the graph
    around it that change.
    """

    def __init__(self, writer: AtenWriter) -> None:
        self._writer = writer
        self.copies: dict[fx.Node, fx.Node] = {}
        self.nodes: list[fx.Node] = []
        self.windows: dict[fx.Node, fx.Node] = {}
        self.fixed: list[fx.Node] = []  # what stands at the start of the graph

    def window(self, outer: fx.Node) -> fx.Node | None:
        """A view that the graph around has made, made here of what it is a view of."""
        if not is_window(outer) or changes_views(outer.graph):
            return None
        func: Any = outer.target
        writer, schema, val = self._writer, schema_of(func), outer.meta["val"]
        given: Any = fx.map_arg((outer.args, outer.kwargs), writer.take)
        args, kwargs = given
        made: fx.Node = args[0]
        if schema is None or not schema.is_mutable:
            after = writer.last_placeholder if made.op == "placeholder" else made
            with writer.fx.inserting_after(after):
                made = writer.fx.call_function(func, args, kwargs)
            made.meta.update(outer.meta)
            self.fixed.append(made)
        if isinstance(val, torch.Tensor):
            writer.note(val, made)
            writer.show(made, val)
        self.windows[outer] = made
        return made

    def take(self, root: fx.Node) -> bool:
        """Let a placeholder be changed; False if it stands for no tensor of the graph around."""
        writer = self._writer
        outer = self._outers().get(root)
        if outer is None or writer.last_placeholder is None:
            return False
        with writer.fx.inserting_after(writer.last_placeholder):
            copy = writer.emit(_CLONE, (root,), root.meta["val"])
        root.replace_all_uses_with(copy, delete_user_cb=lambda user: user is not copy)
        for key, node in writer.nodes.items():
            if node is root:
                writer.nodes[key] = copy
        self.copies[root] = copy
        self.fixed.append(copy)
        self.nodes.append(outer)
        return True

    def results(self, outers: Sequence[fx.Node]) -> list[fx.Node]:
        """Results of the graph: what it leaves in tensors around it."""
        writer = self._writer
        made = [writer.take(outer) for outer in outers]
        return [
            writer.emit(
                _CLONE,
                (node,),
                left_in(writer, outer),
                memory_format=torch.contiguous_format,
            )
            for outer, node in zip(outers, made, strict=True)
        ]

    def outer_root(self, val: Any) -> fx.Node | None:
        """The node of the graph around whose memory a tensor has; None for one of this graph."""
        writer = self._writer
        if not isinstance(val, torch.Tensor):
            return None
        root = memory_of(writer.node_arg(val))
        placeholders = {copy: made for made, copy in self.copies.items()}
        root = placeholders.get(root, root)
        if root.op != "placeholder":
            return None
        return memory_of(self._outers().get(root, root))

    def _outers(self) -> dict[fx.Node, fx.Node]:
        """The nodes of the graph around, by their placeholders."""
        writer = self._writer
        return {made: o for o, made in (*writer.given.items(), *writer.imports.items())}


def changes_of(writer: AtenWriter) -> ChangedMemory:
    """What a graph of a branch or a loop changes."""
    assert writer.changed is not None
    return writer.changed


def left_in(writer: AtenWriter, node: fx.Node) -> Any:
    """A tensor like the one of a node, for the values that are left in it."""
    val = node.meta["val"]
    return writer.fakes.make(list(val.shape), None, val.dtype, val.device, own=True)


def share_memory(nodes: Sequence[fx.Node], others: Iterable[fx.Node]) -> bool:
    """Whether other nodes may share memory with the nodes that are changed, or these with each
    other.
    """
    roots = [memory_of(node) for node in nodes]
    return len(set(roots)) < len(roots) or any(memory_of(node) in roots for node in others)


def write_back(writer: AtenWriter, node: fx.Node, val: Any) -> None:
    """Give a tensor the values that a branch or loop leaves in it."""
    writer.need_own(node)
    target = writer.changed.copies.get(node, node) if writer.changed else node
    writer.emit(_COPY, (target, writer.node_arg(val)), node.meta["val"])
