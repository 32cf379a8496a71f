"""Private names of a class, as Python spells them out."""

from __future__ import annotations

import ast
from typing import Any


def private(name: str, owner: str) -> str:
    """A name in a class; a private one with that of the class."""
    owner = owner.lstrip("_")
    if name.startswith("__") and not name.endswith("__") and owner:
        return f"_{owner}{name}"
    return name


class PrivateNames(ast.NodeTransformer):
    """Spells out private names, for a function that is compiled outside its class."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def visit_Name(self, n: ast.Name) -> Any:
        n.id = private(n.id, self._owner)
        return n

    def visit_Attribute(self, n: ast.Attribute) -> Any:
        n.attr = private(n.attr, self._owner)
        return self.generic_visit(n)

    def visit_arg(self, n: ast.arg) -> Any:
        n.arg = private(n.arg, self._owner)
        return n

    def visit_ClassDef(self, n: ast.ClassDef) -> Any:
        return n
