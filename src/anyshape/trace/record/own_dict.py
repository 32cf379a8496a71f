"""The dicts of objects, classes and modules from outside: a shadow shows what the trace changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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
