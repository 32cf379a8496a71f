"""Which objects of a trace would be gone in eager execution, where nothing keeps them.

A recorder keeps what the program made, so reference counts alone do not tell. As Python's garbage
collector does, count for each object the references from the others: one that has more is referred
to from outside of them, and with it all that it refers to.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZED: Final = (dict, list, tuple)
_BETWEEN: Final = (types.CellType, types.FunctionType, *_SIZED)  # may lie between two such objects
_LARGE: Final = 64  # elements of a container that is not looked into
_OWN: Final = 3  # references of this module: of a dict, a variable, an argument


def unreferenced(kept: Mapping[int, Any]) -> list[Any]:
    """The objects to which nothing refers but `kept` and others of these, by their ids."""
    found: dict[int, Any] = {}
    counts: dict[int, int] = {}
    todo = list(kept.values())
    while todo:
        x = todo.pop()
        if id(x) in found:
            continue
        found[id(x)] = x
        if type(x) in _SIZED and len(x) > _LARGE:
            continue  # such as the globals of a function
        for part in gc.get_referents(x):
            if id(part) in kept or type(part) in _BETWEEN:
                counts[id(part)] = counts.get(id(part), 0) + 1
                todo.append(part)
    part = x = None
    live = [
        y
        for y in found.values()
        if sys.getrefcount(y) > _OWN + counts.get(id(y), 0) + (id(y) in kept)
    ]
    alive: set[int] = set()
    while live:
        y = live.pop()
        if id(y) not in alive:
            alive.add(id(y))
            live += [part for part in gc.get_referents(y) if id(part) in found]
    return [y for key, y in kept.items() if key not in alive]
