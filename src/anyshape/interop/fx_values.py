"""What the nodes of a `torch.fx` graph say about themselves: `val`, `nn_module_stack`, lines.

`val` is a fake tensor of torch, made from our metadata without running a kernel, or a symbolic
number of torch; a node that only checks, or changes something, has none.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from torch import fx

from anyshape.errors import AnyshapeError
from anyshape.interop.aten.fake_values import FakeValues
from anyshape.interop.aten.symbols import TorchSymbols
from anyshape.torch_compat.exported_program import forget_pending
from anyshape.torch_compat.fake_tensor import general_paths
from anyshape.trace.graph.graph import Name, Value, leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anyshape.trace.capture import Captured


def add_values(captured: Captured, known: Mapping[Any, Any], numbers: Iterable[fx.Node]) -> None:
    """Give nodes their `val`: those of the values and symbols in `known`, and those that compute
    `numbers` from them, in order. A number that torch's symbols cannot express has none.
    """
    symbols = TorchSymbols(captured)
    for step in captured.graph.nodes:
        for name in leaves(step.outs):
            if type(name) is Name and str(name) in captured.tracer.env.symbols:
                symbols.mint(str(name))
    fakes = FakeValues(symbols)
    with general_paths():
        for x, node in known.items():
            if isinstance(node, fx.Node):
                read: Any = fakes.of if type(x) is Value else symbols.numbers.__getitem__
                _give(node, partial(read, x.meta if type(x) is Value else x))
        for node in numbers:
            args = [_val(a) for a in node.args]
            if not any(isinstance(a, fx.Node) for a in args):
                _give(node, partial(cast("Any", node.target), *args))
    forget_pending(symbols.shape_env)


def _val(a: Any) -> Any:
    """The value of an argument; the argument itself if that is unknown."""
    if isinstance(a, list):
        return [_val(part) for part in a]
    return a.meta.get("val", a) if isinstance(a, fx.Node) else a


def _give(node: fx.Node, value: Any) -> None:
    try:
        node.meta["val"] = value()
    except (AnyshapeError, KeyError):  # a size or a symbol that torch has no expression for
        return
