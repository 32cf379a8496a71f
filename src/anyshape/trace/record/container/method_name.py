"""The effects of the methods of containers, by name."""

from __future__ import annotations

from typing import Final

CHANGING: Final = frozenset(
    (
        "append", "appendleft", "extend", "extendleft", "insert", "remove", "pop", "popleft",
        "popitem", "clear", "sort", "reverse", "rotate", "update", "setdefault", "add", "discard",
        "difference_update", "intersection_update", "symmetric_difference_update", "subtract",
        "move_to_end", "__setitem__", "__delitem__", "__iadd__", "__ior__", "__imul__", "__isub__",
        "__iand__", "__ixor__",
    )
)  # fmt: skip
"""Methods that change a container."""

BLIND: Final = frozenset(
    (
        "append", "appendleft", "extend", "extendleft", "insert", "clear", "update", "add",
        "discard", "__iadd__", "__ior__",
    )
)  # fmt: skip
"""Those that tell nothing of what the container held."""

CONSUMING: Final = frozenset(
    (
        "extend", "extendleft", "update", "difference_update", "intersection_update",
        "symmetric_difference_update", "subtract", "__iadd__", "__ior__", "__isub__", "__iand__",
        "__ixor__", "union", "intersection", "difference", "issubset", "issuperset", "isdisjoint",
        "join", "fromkeys", "__add__",
    )
)  # fmt: skip
"""Methods that go through their arguments."""

FRESH: Final = frozenset(
    (
        "copy", "keys", "values", "items", "fromkeys", "union", "intersection", "difference",
        "most_common", "elements",
    )
)  # fmt: skip
"""Methods that give a new object."""
