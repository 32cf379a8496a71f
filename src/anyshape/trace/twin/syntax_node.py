"""Walks over syntax trees, and the places of new nodes.

A node keeps its parts in its `__dict__`, which is looked at directly: the walks of the standard
library ask each node for each field that it might have.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Classes of nodes that are shared and have neither a place nor parts, such as `Load` and `Add`.
_BARE: Final = frozenset(
    kind
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
    if not (kind._fields or kind._attributes)
)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, in no order."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo += children(node)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below a node."""
    found: list[ast.AST] = []
    for value in node.__dict__.values():
        if isinstance(value, ast.AST):
            found.append(value)
        elif type(value) is list:
            found += [x for x in value if isinstance(x, ast.AST)]
    return found


def locate(node: ast.AST, place: tuple[int, int, int, int] = (1, 0, 1, 0)) -> None:
    """Give each node without a place that of the node around it, as `ast.fix_missing_locations`."""
    own: dict[str, Any] = node.__dict__
    if "end_col_offset" in node._attributes:
        line, column, end, last = place
        place = (
            own.setdefault("lineno", line),
            own.setdefault("col_offset", column),
            end if own.get("end_lineno") is None else own["end_lineno"],
            last if own.get("end_col_offset") is None else own["end_col_offset"],
        )
        own["end_lineno"], own["end_col_offset"] = place[2:]
    for name in node._fields:
        value = own.get(name)
        if type(value) is list:
            for x in value:
                if isinstance(x, ast.AST) and type(x) not in _BARE:
                    locate(x, place)
        elif isinstance(value, ast.AST) and type(value) not in _BARE:
            locate(value, place)
