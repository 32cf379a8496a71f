"""Functions that code without a twin is given: to call, to keep, or to look at.

What it calls must be the trace's own, and what it looks at must be the program's: its name, its
signature, its identity. Which of the two it does is known when it has returned. A function that was
neither called nor kept was looked at, and the code is run again with the program's own. One that
came in a container may not be kept: the program would find it there and compare it.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import LRU
from anyshape.trace.record.read import read as reads
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

FUNCTIONS: Final = (types.FunctionType, types.MethodType)
_IN_C: Final = frozenset(
    (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType,
     types.WrapperDescriptorType, types.ClassMethodDescriptorType, functools.partial, LRU,
     operator.attrgetter, operator.itemgetter, operator.methodcaller)
)  # fmt: skip
_NAMES: Final = ("__name__", "__qualname__", "__module__", "__doc__")
_MAKING: Final = ("__init__", "__new__")
_SEEN: Final = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__")


def is_of_user(f: Any) -> bool:
    """Whether a function or a method runs as a twin."""
    function = f.__func__ if type(f) is types.MethodType else f
    code = getattr(function, "__code__", None)
    return code is not None and (is_twin(code) or is_twinned(code))


def may_reach(f: Any) -> bool:
    """Whether a call of something could run the user's code, or read or change what is outside: a
    function, a method of a container, a partial function, a class with an `__init__` of the user's.
    """
    if isinstance(f, type):
        return any(is_of_user(vars(base).get(name)) for base in f.__mro__ for name in _MAKING)
    return type(f) in FUNCTIONS or type(f) in _IN_C


class Lent:
    """The functions that one call of such code is given. They look like the program's, so that code
    that both calls one and names it in a message names the right one.
    """

    def __init__(self, calls: Calls, recorder: Recorder) -> None:
        self._calls = calls
        self._recorder = recorder
        self._real: dict[int, Any] = {}  # by the id of the real one
        self._given: dict[int, weakref.ref[Any]] = {}
        self._called: set[int] = set()
        self._inner: set[int] = set()  # those that came in a container

    def lend(self, f: Any) -> Any:
        """The function to give in place of one of the program's."""
        key = id(f)
        known = self._given.get(key)
        found = None if known is None else known()
        if found is not None:
            return found
        ready, called = self._calls.ready(f), self._called

        def call(*args: Any, **named: Any) -> Any:
            called.add(key)
            return ready(*args, **named)

        for name in _NAMES:
            if isinstance(found := getattr(f, name, None), str):
                setattr(call, name, found)
        call.__dict__.update({} if isinstance(f, type) else getattr(f, "__dict__", {}))
        call.__dict__["__wrapped__"] = f
        self._real[key] = f
        self._given[key] = weakref.ref(call)
        return call

    def lend_parts(self, x: Any, lend: Any) -> Any:
        """A container, or a copy that holds what `lend` gives for the user's functions in it."""
        kind = type(x)
        if kind is dict:
            parts = {k: self._part(v, lend) for k, v in x.items()}
            return parts if any(parts[k] is not x[k] for k in parts) else x
        if kind is list or kind is tuple:
            items = kind([self._part(v, lend) for v in x])
            return items if any(a is not b for a, b in zip(items, x, strict=True)) else x
        return x

    def _part(self, x: Any, lend: Any) -> Any:
        if isinstance(x, type) or not may_reach(x):
            return self.lend_parts(x, lend)
        if type(x) in FUNCTIONS and not is_of_user(x):
            return x
        self._inner.add(id(x))
        return lend(x)

    @property
    def were_called(self) -> bool:
        """Whether all of them were called."""
        return len(self._called) == len(self._real)

    @property
    def were_used(self) -> bool:
        """Whether all of them were called or kept."""
        if self.were_called:
            return True
        kept = {key for key in self._real.keys() - self._called if self._given[key]() is not None}
        if kept & self._inner:
            raise self._recorder.refusal("a function is kept by code that is not recorded")
        if any(type(self._real[key]) not in FUNCTIONS for key in kept):
            return False  # nothing stands for it that is not called
        return len(self._called | kept) == len(self._real)

    def seen(self, f: Any) -> Any:
        """The function to give when the code runs again: the program's, if it is looked at."""
        key = id(f)
        is_function = type(f) in FUNCTIONS
        is_kept = key in self._real and self._given[key]() is not None
        if key not in self._real or key in self._called or (is_kept and is_function):
            return self.lend(f)
        if not is_function:
            return f
        function = f.__func__ if type(f) is types.MethodType else f
        for name in _SEEN:
            self._recorder.note_value(
                reads.ATTRIBUTE, function, name, getattr(function, name, None)
            )
        if getattr(function, "__dict__", None):
            self._recorder.deep(function.__dict__)
        return f
