"""Hooks after a trace: a function that a twin defined and that outlives it does what it says."""

from __future__ import annotations

import operator
from typing import Any, Final

_SAME: Final = (
    "born", "ready", "looked", "truth", "iterated", "looped", "mapping", "operand", "unpacked",
    "plain_text", "raised", "manager", "hashed", "base", "metaclass", "gathered",
    "class_options", "class_made",
)  # fmt: skip
OPERATORS: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "or_", "and_", "xor",
    "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge", "is_", "is_not", "neg", "pos", "invert",
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "ior", "iand",
    "ixor", "ilshift", "irshift",
)  # fmt: skip
_NOTHING: Final = (
    "tries", "prefetch", "importing", "importing_from", "imported", "imported_from", "class_body",
    "generator_starts", "generator_ends",
)  # fmt: skip


class Inert:
    """The hooks of `twin/rewrite.py`, which do what Python does."""

    def __init__(self) -> None:
        for name in _SAME:
            setattr(self, name, _itself)
        for name in OPERATORS:
            setattr(self, name, getattr(operator, name))
        for name in _NOTHING:
            setattr(self, name, _nothing)
        self.new_set, self.new_dict = set, dict
        self.attribute = self.method = getattr
        self.item = operator.getitem
        self.set_attribute, self.del_attribute = setattr, delattr
        self.set_item, self.del_item = operator.setitem, operator.delitem
        self.set_global = self.set_cell = self.text = self.caught = self.asserted = _first
        self.before = _first

    def items_of(self, o: Any, count: int, at_least: bool) -> Any:
        """See `pattern.py`."""
        match o:
            case [*items] if len(items) >= count if at_least else len(items) == count:
                return tuple(items)
        return None

    def rest_of_items(self, items: Any, start: int, end: int | None) -> list[Any]:
        """See `pattern.py`."""
        return list(items[start:end])

    def values_of(self, o: Any, keys: Any) -> Any:
        """See `pattern.py`."""
        match o:
            case {**whole} if all(key in whole for key in keys):
                return (*[whole[key] for key in keys], (whole, keys))
        return None

    def rest_of_mapping(self, found: Any) -> dict[Any, Any]:
        """See `pattern.py`."""
        whole, keys = found[-1]
        return {key: value for key, value in whole.items() if key not in keys}

    def members_of(self, o: Any, cls: Any, count: int, names: Any) -> Any:
        """See `pattern.py`."""
        if not isinstance(o, cls):
            return None
        listed = getattr(cls, "__match_args__", None)
        own = [o] if count and listed is None else []
        names = (*(listed or ())[: count - len(own)], *names)
        if not all(hasattr(o, name) for name in names):
            return None
        return (*own, *[getattr(o, name) for name in names])

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
