"""What can be reached from objects outside: code that is not recorded may read it there."""

from __future__ import annotations

import gc
import types
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.atom import ATOMS

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 200_000
_ENDS: Final = (type, types.ModuleType, types.FunctionType, types.CodeType, types.FrameType)


class Reach:
    """The objects that others lead to, found on demand; `roots` may grow."""

    def __init__(self, roots: Mapping[int, Any]) -> None:
        self._roots = roots
        self._seen: dict[int, Any] = {}  # kept alive, so that an id is its own

    def has(self, x: Any) -> bool:
        """Whether an object can be reached."""
        if id(x) not in self._seen:
            todo = [root for key, root in list(self._roots.items()) if key not in self._seen]
            self._visit(todo)
        return id(x) in self._seen

    def _visit(self, todo: list[Any]) -> None:
        seen = self._seen
        while todo and len(seen) < _MOST:
            x = todo.pop()
            if id(x) in seen or type(x) in ATOMS or isinstance(x, _ENDS):
                continue
            seen[id(x)] = x
            todo += gc.get_referents(x)
