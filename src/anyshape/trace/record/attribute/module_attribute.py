"""Attributes of modules, which are their global variables too, and the items of their dicts.

What the trace assigned by one of these ways is seen by all of them: it is in the namespace of the
twins, see `Recorder.set_global`. Attributes beyond the namespace are made by a function or a class
when asked.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from anyshape.trace.record.object_kind import ATOMS, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder


def own_name(recorder: Recorder, m: Any, name: str) -> Any:
    """What the namespace of a module holds under a name, or `MISSING`."""
    own = m.__dict__
    value = recorder.assigned_global(own, name)
    if value is MISSING and name in own:
        value = recorder.known[id(m), name] = recorder.note(reads.ITEM, own, name, own[name])
    return value


def lazy_attribute(recorder: Recorder, calls: Calls, m: Any, name: str) -> Any:
    """A setting of the process that a class of torch's stands for, or what the `__getattr__` of a
    module, or of its class, gives: it runs as a twin where its code does.
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
    fallback = recorder.lookup(type(m), "__getattr__")
    if calls.is_recorded(fallback) and recorder.lookup(type(m), name) is MISSING:
        recorder.note(reads.ABSENT, own, name, MISSING)
        return calls.ready(fallback)(m, name)
    try:
        value = getattr(m, name)
    except AttributeError:
        recorder.note(reads.ABSENT, own, name, MISSING)
        raise
    return recorder.note(reads.ATTRIBUTE, m, name, value) if type(value) in ATOMS else value
