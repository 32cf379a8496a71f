"""Asserts that keep `as_strided` inside the storage of its tensor.

Eager execution checks that; compiled code does not, so the check becomes an assert of the program.
An input is taken to cover its whole storage, which becomes a guard. A program in which the size of
a storage is unknown is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.fact import CHECK, Fact
from anyshape.env.obligation import Obligation
from anyshape.errors import UnsupportedError
from anyshape.expr.boolean import constant
from anyshape.symbolic.functions import sym_or
from anyshape.symbolic.sym_bool import SymBool
from anyshape.trace.graph.graph import CONSTANT, INPUT, Value, leaves

if TYPE_CHECKING:
    from anyshape.trace.capture import Captured
    from anyshape.trace.graph.graph import Node

_STRIDED: Final = (
    torch.as_strided,
    torch.as_strided_copy,
    torch.Tensor.as_strided,
    torch.Tensor.as_strided_,
)
_UNMOVED: Final = frozenset(
    [
        "view",
        "view_as",
        "reshape",
        "reshape_as",
        "flatten",
        "unflatten",
        "transpose",
        "swapaxes",
        "swapdims",
        "permute",
        "movedim",
        "moveaxis",
        "t",
        "unsqueeze",
        "squeeze",
        "expand",
        "expand_as",
        "broadcast_to",
        "detach",
    ]
)
_SCATTER: Final = (torch.as_strided_scatter, torch.Tensor.as_strided_scatter)


class StorageBounds(NamedTuple):
    """The asserts, and the inputs that must cover their whole storage."""

    asserts: list[Obligation]
    whole: list[Value]


def find_storage_bounds(captured: Captured) -> StorageBounds:
    """The asserts and conditions for the strided views of a program."""
    bounds = StorageBounds([], [])
    for node in captured.graph.nodes:
        if node.func in _STRIDED:
            _check(captured, bounds, node, *_arguments(node, 1))
        elif node.func in _SCATTER:
            _check(captured, bounds, node, *_arguments(node, 2))
    return bounds


def _starts_at_root(captured: Captured, value: Value) -> bool:
    """Whether a view begins at the first element of what it views, whatever the sizes."""
    makers = {out: node for node in captured.graph.nodes for out in leaves((node.outs,))}
    root = value.root
    while value is not root:
        node = makers.get(value)
        if node is None or getattr(node.func, "__name__", None) not in _UNMOVED or not node.args:
            return False
        if type(node.args[0]) is not Value or node.args[0].meta.dtype != value.meta.dtype:
            return False
        value = node.args[0]
    return True


def _arguments(node: Node, first: int) -> tuple[Any, Any, Any]:
    names = ("size", "stride", "storage_offset")
    given = dict(zip(names, node.args[first : first + 3], strict=False))
    given.update({name: node.kwargs[name] for name in names if name in node.kwargs})
    return given["size"], given["stride"], given.get("storage_offset")


def _check(
    captured: Captured, bounds: StorageBounds, node: Node, size: Any, stride: Any, offset: Any
) -> None:
    value = node.args[0]
    root = value.root
    if offset is None:
        if not _starts_at_root(captured, value):
            raise UnsupportedError(
                f"as_strided of a view without an offset, at {node.site}", code="AS404"
            )
        offset = 0
    count: Any = 1
    for n in root.meta.shape:
        count = count * n
    if root.kind == CONSTANT:
        tensor = next(t for v, t in captured.graph.constants if v is root)
        count = tensor.untyped_storage().nbytes() // tensor.element_size()
    elif root.kind == INPUT:
        bounds.whole.append(root)
    elif root.meta.layout.found().strides is not None:
        raise UnsupportedError(f"as_strided of a tensor with gaps, at {node.site}", code="AS404")
    last = offset
    for n, step in zip(size, stride, strict=True):
        last = last + (n - 1) * step
    inside: Any = last < count
    for n in size:
        inside = sym_or(inside, n == 0)
    env = captured.tracer.env
    symbolic = type(inside) is SymBool
    condition = inside.condition if symbolic else constant(env.pool, inside)
    if env.decide(condition) is not True:
        message = "as_strided exceeds the storage of its tensor"
        bounds.asserts.append(Obligation(Fact(condition, CHECK, node.site, message), env.knowledge))
