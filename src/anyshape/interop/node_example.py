"""Fake results of the nodes of a graph, in the places where torch's compilers look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx import Interpreter

from anyshape.torch_compat.fake_tensor import compute_unbacked_bindings

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from anyshape.interop.fakes import Fakes


class Examples(Interpreter):
    """Records the result of each node, as fake tensors and torch's symbolic numbers.

    Parameters and buffers are fake too, because a program may mutate them. AOTAutograd keeps on
    disk only graphs whose methods are called on nodes that have such results. Inputs have no `val`:
    Inductor's wrapper in C++ would take the graph for an exported one, without numbers as inputs.
    """

    def __init__(self, module: GraphModule, fakes: Fakes) -> None:
        super().__init__(module)
        self._fakes = fakes

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A fake of a constant."""
        real = super().get_attr(target, args, kwargs)
        return self._fakes.mode.from_tensor(real, static_shapes=True)

    def run_node(self, n: Node) -> Any:
        """Run a node, and note its result."""
        result = super().run_node(n)
        n.meta["example_value"] = result
        if n.op != "placeholder":
            n.meta["val"] = result
        bindings = compute_unbacked_bindings(self._fakes.shape_env, result)
        if bindings:
            n.meta["unbacked_bindings"] = bindings
        return result
