"""Hooks after a trace: a function that a twin defined and that outlives it does what it says."""

from __future__ import annotations

import operator
from typing import Any, Final

_SAME: Final = (
    "born", "ready", "looked", "truth", "iterated", "looped", "mapping", "operand", "unpacked",
    "whole", "raised", "manager", "hashed", "base", "metaclass",
    "class_options", "class_made",
)  # fmt: skip
OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "or_", "and_", "xor",
    "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge", "is_", "is_not", "neg", "pos", "invert",
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "ior", "iand",
    "ixor", "ilshift", "irshift",
)  # fmt: skip
_NOTHING: Final = ("tries", "prefetch", "imported", "imported_from", "class_body")


class Inert:
    """The hooks of `twin/rewrite.py`, which do what Python does."""

    def __init__(self) -> None:
        for name in _SAME:
            setattr(self, name, _itself)
        for name in OPERATORS:
            setattr(self, name, getattr(operator, name))
        for name in _NOTHING:
            setattr(self, name, _nothing)
        self.attribute = self.method = getattr
        self.item = operator.getitem
        self.set_attribute, self.del_attribute = setattr, delattr
        self.set_item, self.del_item = operator.setitem, operator.delitem
        self.set_global = self.set_cell = self.text = self.caught = self.asserted = _first
        self.before = _first

    def store_attribute(self, value: Any, o: Any, name: str) -> None:
        """`o.name = value`."""
        setattr(o, name, value)

    def store_item(self, value: Any, o: Any, key: Any) -> None:
        """`o[key] = value`."""
        o[key] = value

    def contains(self, key: Any, o: Any) -> bool:
        """`key in o`."""
        return key in o

    def lacks(self, key: Any, o: Any) -> bool:
        """`key not in o`."""
        return key not in o


def _itself(x: Any) -> Any:
    return x


def _first(x: Any, *_: Any) -> Any:
    return x


def _nothing(*_: Any) -> None:
    pass


INERT: Final = Inert()
