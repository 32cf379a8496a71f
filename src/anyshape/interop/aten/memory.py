"""Which memory the nodes of a graph share."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from anyshape.torch_compat.aten_op import schema_of
from anyshape.torch_compat.pre_dispatch import INPLACE_VIEW

if TYPE_CHECKING:
    from torch import fx


def memory_of(node: fx.Node) -> fx.Node:
    """The node that has made the memory of another: of a view, what it is a view of; of an op that
    changes an operand, that operand.
    """
    while True:
        func, args = node.target, node.args
        if func is operator.getitem:
            schema = schema_of(args[0].target)  # type: ignore[union-attr]
            if schema is None or not _shared(schema):
                return node
            node = args[0]  # type: ignore[assignment]
            continue
        schema = schema_of(func) if node.op == "call_function" else None
        places = _shared(schema) if schema is not None else []
        given = [args[i] for i in places if i < len(args)]
        if not given or not hasattr(given[0], "op"):
            return node
        node = given[0]  # type: ignore[assignment]


def is_window(node: fx.Node) -> bool:
    """Whether a node always has the memory of its first operand, whatever was written there since:
    a view, a part of a list of views, or what an op has written to.
    """
    func = node.target
    if func is operator.getitem:
        return is_window(node.args[0])  # type: ignore[arg-type]
    schema = schema_of(func) if node.op == "call_function" else None
    if schema is None or INPLACE_VIEW in func.tags:  # type: ignore[union-attr]
        return False
    is_alias = any(r.alias_info is not None for r in schema.returns)
    return is_alias and schema.arguments[0].alias_info is not None and hasattr(node.args[0], "op")


def changes_views(graph: fx.Graph) -> bool:
    """Whether a tensor of a graph changes its shape in place, so that a view of it that is made
    later is another one.
    """
    return any(INPLACE_VIEW in getattr(node.target, "tags", ()) for node in graph.nodes)


def _shared(schema: Any) -> list[int]:
    """The operands that results of an op may share memory with."""
    if not any(r.alias_info is not None for r in schema.returns):
        return _MAY_RETURN_OPERAND.get(schema.name, [])
    return [i for i, a in enumerate(schema.arguments) if a.alias_info is not None]


_COMPOSITE = """
    reshape flatten contiguous to type_as dropout alpha_dropout feature_dropout ravel reshape_as
    unflatten atleast_1d atleast_2d atleast_3d resolve_conj resolve_neg real
"""
_MAY_RETURN_OPERAND = {f"aten::{name}": [0] for name in _COMPOSITE.split()}


def written_by(schema: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The operands that an op writes to."""
    return [
        kwargs.get(a.name) if a.kwarg_only or i >= len(args) else args[i]
        for i, a in enumerate(schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]
