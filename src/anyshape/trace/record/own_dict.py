"""`o.__dict__` of an object from outside that the trace has changed: a shadow shows the changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder

DELETED: Final = object()  # in place of the value of an attribute that was deleted


def show_change(recorder: Recorder, own: dict[str, Any], name: str, value: Any) -> None:
    """Let the dict of an object show that an attribute was assigned, or deleted."""
    shadow = recorder.shadows.setdefault(id(own), dict(own))
    recorder.assigned.setdefault(id(own), set()).add(name)
    if value is DELETED:
        shadow.pop(name, None)
    else:
        shadow[name] = value
