"""Words: objects that are about to become text, by methods of the user's that twins stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.effect.text import SHOWN
from anyshape.trace.record.object_kind import ATOMS, Function

if TYPE_CHECKING:
    from anyshape.trace.record.syntax.operation import Operations


_OWN: Final = ("_operations", "_object")  # all other names are those of the object


class Words:
    """An object that is about to become text, whichever way."""

    def __init__(self, operations: Operations, o: Any) -> None:
        self._operations, self._object = operations, o

    def __str__(self) -> str:
        return str(self._operations.shown(self._object, "__str__"))

    def __repr__(self) -> str:
        return str(self._operations.shown(self._object, "__repr__"))

    def __format__(self, spec: str) -> str:
        method = self._operations.special(self._object, "__format__")
        if method is not None:
            return str(method(spec))
        plain: Any = type(self._object).__format__
        spec = self._operations.plain(spec)
        if plain is object.__format__:
            return format(str(self), spec)
        return format(self._operations._recorder.deep(self._object), spec)

    def __getattribute__(self, name: str) -> Any:  # of a field such as `{o.name}`
        if name in _OWN:
            return object.__getattribute__(self, name)
        operations = self._operations
        return operations.text(operations.calls.attributes.attribute(self._object, name), -1)

    def __getitem__(self, key: Any) -> Any:  # of a field such as `{o[0]}`
        operations = self._operations
        return operations.text(operations.calls.containers.item(self._object, key), -1)

    def __int__(self) -> int:
        return int(self._operations.calls.ready(int)(self._object))

    __index__ = __int__

    def __float__(self) -> float:
        return float(self._operations.calls.ready(float)(self._object))


def wrapped(operations: Operations, x: Any) -> Any:
    """A container with the texts of its parts, for those that have texts of the user's."""
    if type(x) is dict:
        return {word(operations, k): word(operations, v) for k, v in x.items()}
    return type(x)([word(operations, part) for part in x])


def word(operations: Operations, x: Any) -> Any:
    """A part of a container, as it is shown."""
    if type(x) in (list, tuple, dict):
        return wrapped(operations, operations._recorder.content(x))
    if operations._recorder.defers_text and type(x) in SHOWN:
        return operations._recorder.texts.deferred(x)
    is_users = type(getattr(type(x), "__repr__", None)) is Function
    return Words(operations, x) if is_users and type(x) not in ATOMS else x
