"""Special methods written in C that a program calls by name, as `o.__setattr__("x", 1)`.

Those of slots and properties do what the attribute of that name does, if the class of the object
finds the same descriptor.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import TYPE_CHECKING, Any, Final

from anyshape.tensor.identity import type_of
from anyshape.trace.record.object_kind import CONTAINERS

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls

_DESCRIPTORS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType, property)
_WAYS: Final = {"__get__": "fget", "__set__": "fset", "__delete__": "fdel"}


def special_method(calls: Calls, f: Any, owner: Any) -> Any:
    """The callable for a special method that the class of its owner inherits from C; None if the
    method itself will do.
    """
    attributes, name = calls.attributes, f.__name__
    if name in ("__iter__", "__next__") and hasattr(type(owner), "__next__"):
        owner = attributes.recorder.outside(owner)
        return functools.partial(calls.ready(next), owner) if name == "__next__" else lambda: owner
    match name:
        case "__getattribute__":
            return functools.partial(attributes.plain, owner)
        case "__setattr__":
            return functools.partial(attributes.assign, owner)
        case "__delattr__":
            return functools.partial(attributes.remove, owner)
        case "__get__" if type(owner) is types.FunctionType:
            return f  # it makes a method, and looks at neither the object nor the class
    if name in _WAYS and type(owner) in _DESCRIPTORS:
        return functools.partial(_through_descriptor, calls, f, owner)
    if isinstance(owner, CONTAINERS):
        return calls.containers.method(owner, name, is_native=True)
    if name == "__call__":
        if isinstance(owner, type):  # by the `__call__` of a metaclass
            return functools.partial(calls.make, owner)
        if type(type(owner).__call__) is not types.FunctionType:
            return calls.ready(owner)
        if isinstance(owner, weakref.ref):  # by a `__call__` of the class, which hides it
            return functools.partial(calls.followed, f)
        raise attributes.recorder.refusal(f"{type(owner).__name__} calls the one that it hides")
    return None


def _through_descriptor(calls: Calls, f: Any, raw: Any, /, o: Any, *args: Any) -> Any:
    """`raw.__get__(o)`, `raw.__set__(o, value)` or `raw.__delete__(o)`."""
    attributes, way = calls.attributes, f.__name__
    if o is None:
        return f(o, *args)
    if type(raw) is property:
        function = getattr(raw, _WAYS[way])
        if function is None:
            return f(o, *args)  # raises
        return calls.ready(function)(o, *(args if way == "__set__" else ()))
    name = raw.__name__
    is_read_only = isinstance(o, type) and way != "__get__"
    if is_read_only or attributes.recorder.lookup(type_of(o), name) is not raw:
        raise attributes.recorder.refusal(f"{way} of the descriptor {name} is called")
    if way == "__set__":
        return attributes.set_attribute(o, name, *args)
    if way == "__delete__":
        return attributes.del_attribute(o, name)
    return attributes.attribute(o, name)
