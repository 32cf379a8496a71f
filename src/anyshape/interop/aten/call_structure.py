"""The structures of arguments and results, as torch's programs keep them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anyshape.interop.aten.symbols import refuse
from anyshape.tensor.sym_tensor import SymSize
from anyshape.torch_compat import pytree
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAF = pytree.tree_structure(0)


def argument_names(spec: Any, leaves: Sequence[str]) -> list[str]:
    """The names of the arguments, positional ones first."""
    args, kwargs = spec.children()
    names: list[str] = []
    place = 0
    for i, child in enumerate(args.children()):
        head = re.match(r"\w+", leaves[place]) if child.num_leaves else None
        name = head.group() if head else f"arg_{i}"
        names.append(f"{name}_{i}" if name in names else name)
        place += child.num_leaves
    return [*names, *kwargs.context]


def need_plain_structure(spec: Any, what: str) -> None:
    """Refuse containers that torch does not know."""
    if spec.type in (tree.Fields, tree.Members, tree.Derived):
        raise refuse(
            f"{what} of class {spec.context[0].__qualname__}",
            why="torch takes it for a single object",
            fix=f"register the class with {pytree.REGISTER}",
        )
    for child in spec.children():
        need_plain_structure(child, what)


def spread_sizes(flat: Sequence[Any], spec: Any) -> tuple[list[Any], Any]:
    """A result whose shapes are tuples of numbers: torch has no leaf for a shape."""
    if not any(type(x) is SymSize for x in flat):
        return list(flat), spec
    rest = iter(flat)
    found: list[Any] = []

    def part(one: Any) -> Any:
        if one.num_children:
            inner = [part(child) for child in one.children()]
            return pytree.TreeSpec(one.type, one.context, inner)
        if not one.is_leaf():
            return one
        x = next(rest)
        found.extend(x if type(x) is SymSize else [x])
        if type(x) is not SymSize:
            return _LEAF
        return pytree.tree_structure(tuple(range(len(x))))

    made = part(spec)
    return found, made
