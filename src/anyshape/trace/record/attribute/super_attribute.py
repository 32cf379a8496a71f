"""Attributes of `super()`: those of the classes behind the one that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_UNKNOWN: Final = object()
_this_class: Final = vars(super)["__thisclass__"].__get__
_self_class: Final = vars(super)["__self_class__"].__get__


def in_super(recorder: Reader, o: Any, name: str) -> Any:
    """The attribute that the classes of a `super` object have under a name, or `MISSING`."""
    start, cls = _this_class(o), _self_class(o)
    found = recorder.supers.get((cls, start, name), _UNKNOWN)
    if found is _UNKNOWN:
        found = MISSING
        line, changed = cls.__mro__, recorder.changed
        for base in line[line.index(start) + 1 :]:
            stored = recorder.lookup(base, name)  # that a base lacks it is read, too
            if name in base.__dict__ or name in changed.get(id(base), ((), ()))[1]:
                found = stored
                break
        recorder.supers[cls, start, name] = found
    return found
