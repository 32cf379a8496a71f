"""The special methods of the user's classes: functions, and whatever else a class may hold there.

Python finds a special method in the classes of an object and binds it as any descriptor; what binds
nothing, as a builtin method of another object or a partial, is called without the object.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.record.foreign.territory import is_library
from anyshape.trace.record.object_kind import Function
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls

_OF_C: Final = frozenset((  # kinds of special methods that no code of the user's is behind
    type(MISSING), type(None), types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType,
))  # fmt: skip


def special_callable(calls: Calls, o: Any, name: str, raw: Any = None) -> Any:
    """The callable for a special method of an object; None if C, or a library, has it.

    `raw` is what the classes of the object hold, if it was looked up before.
    """
    recorder, kind = calls.attributes.recorder, type(o)
    raw = recorder.lookup(kind, name) if raw is None else raw
    if type(raw) is Function:
        return functools.partial(calls.ready(raw), o)
    if type(raw) in _OF_C:
        return None
    if is_library(next(base for base in kind.__mro__ if name in base.__dict__)):
        return None
    get = getattr(type(raw), "__get__", None)
    if type(raw) is functools.partial and get is not None:  # Python 3.13 warns of it
        raise recorder.refusal("a functools.partial is called as a method")
    found = recorder.outside(raw)
    if type(raw) is property:
        found = calls.ready(raw.fget)(o)
    elif type(get) is Function:
        found = calls.ready(get)(raw, o, kind)
    elif get is not None:
        found = get(raw, o, kind)
    return calls.ready(found)


def called_by_class(calls: Calls, o: Any, name: str, *args: Any) -> bool:
    """Whether a `__setattr__` or `__delattr__` of the user's has done an assignment."""
    found = getattr(type(o), name)
    if type(found) is types.WrapperDescriptorType or found is vars(torch.nn.Module)[name]:
        return False
    ready = special_callable(calls, o, name)
    if ready is not None:
        ready(*args)
    return ready is not None
