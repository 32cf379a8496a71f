"""The dicts of objects, classes and modules from outside: a shadow shows what the trace changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.attribute.attribute import Attributes
    from anyshape.trace.record.recorder import Recorder

DELETED: Final = object()  # in place of the value of an attribute that was deleted


def module_of(d: Any) -> Any:
    """The module that a dict is the namespace of, or None."""
    if not isinstance(d, dict) or not dict.__contains__(d, "__spec__"):
        return None
    module = sys.modules.get(dict.get(d, "__name__", ""))
    return module if getattr(module, "__dict__", None) is d else None


def show_change(recorder: Recorder, own: dict[str, Any], name: str, value: Any) -> None:
    """Let the dict of an object show that an attribute was assigned, or deleted."""
    shadow = recorder.shadows.setdefault(id(own), dict(own))
    recorder.assigned.setdefault(id(own), set()).add(name)
    if value is DELETED:
        shadow.pop(name, None)
    else:
        shadow[name] = value


def beyond_deleted(attributes: Attributes, o: Any, name: str, *, falls_back: bool) -> Any:
    """What `o.name` is after the program has deleted it from the dict of the object."""
    recorder = attributes.recorder
    raw = recorder.lookup(type(o), name)
    fallback = recorder.lookup(type(o), "__getattr__") if falls_back else MISSING
    if raw is MISSING and fallback is MISSING:
        raise AttributeError(f"{type(o).__name__!r} object has no attribute {name!r}")
    if raw is MISSING:
        return attributes.calls.ready(fallback)(o, name)
    if hasattr(type(raw), "__get__"):
        raise recorder.refusal(f"{name} is deleted, and read from the class")
    return raw
