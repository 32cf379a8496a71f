"""Attributes of modules beyond their namespace: made by a function or a class when asked."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from anyshape.trace.record import read as reads
from anyshape.trace.record.atom import ATOMS, Function
from anyshape.trace.record.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.call import Calls
    from anyshape.trace.record.recorder import Recorder


def lazy_attribute(recorder: Recorder, calls: Calls, m: Any, name: str) -> Any:
    """A setting of the process that a class of torch's stands for, or what the `__getattr__` of a
    module gives: that of the user's runs as a twin.
    """
    own = m.__dict__
    getter = getattr(recorder.lookup(type(m), name), "getter", None)
    if isinstance(getter, Function | types.BuiltinFunctionType):
        return calls.ready(getter)()
    fallback = own.get("__getattr__")
    if calls.is_recorded(fallback) and not hasattr(type(m), name):
        recorder.note(reads.ABSENT, own, name, MISSING)
        recorder.note(reads.ITEM, own, "__getattr__", fallback)
        return calls.ready(fallback)(name)
    value = getattr(m, name)
    if type(value) in ATOMS:
        recorder.note(reads.ATTRIBUTE, m, name, value)
    return value
