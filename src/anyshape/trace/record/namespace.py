"""The globals of twins: a dict that asks the recorder for each name, once."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.inert import INERT
from anyshape.trace.twin.hook import HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable

_COPIED: Final = ("__name__", "__package__", "__spec__", "__loader__", "__path__", "__file__")


class Namespace(dict[str, Any]):
    """The globals that the functions of one module see.

    Python looks a name up here first, and calls `__missing__` where it is not; what that returns is
    kept. Assignments by a twin stay here, and the module is as before.
    """

    __slots__ = ("_read", "kept", "real")

    def __init__(
        self, real: dict[str, Any], hooks: Any, read: Callable[[dict[str, Any], str], Any]
    ) -> None:
        super().__init__({name: real[name] for name in _COPIED if name in real})
        self[HOOKS] = hooks
        self["__builtins__"] = vars(builtins)
        self.real = real
        self.kept: dict[str, Any] = {}
        self._read: Callable[[dict[str, Any], str], Any] | None = read

    def __missing__(self, name: str) -> Any:
        if self._read is None:  # the trace has ended
            return self.real[name]
        value = self[name] = self._read(self.real, name)
        return value

    def close(self, *, keeps: bool = False) -> None:
        """End the trace: names are those of the module, and hooks do what Python does.

        What was looked up is `kept`, if another trace may start from it.
        """
        self._read = None
        del self[HOOKS], self["__builtins__"]
        if keeps:
            self.kept = dict(self)
        self.clear()
        self["__builtins__"] = vars(builtins)
        self[HOOKS] = INERT
