"""Functions that code without a twin is given: to call, to keep, or to look at.

What it calls must be the trace's own, and what it looks at must be the program's: its name, its
signature, its identity. Which of the two it does is known when it has returned. A function that was
neither called nor kept was looked at, and the code is run again with the program's own. One that
came in a container may not be kept: the program would find it there and compare it.
"""

from __future__ import annotations

import types
import weakref
from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.read import read as reads
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

FUNCTIONS: Final = (types.FunctionType, types.MethodType)
_SEEN: Final = ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__")


def is_of_user(f: Any) -> bool:
    """Whether a function or a method runs as a twin."""
    function = f.__func__ if type(f) is types.MethodType else f
    code = getattr(function, "__code__", None)
    return code is not None and (is_twin(code) or is_twinned(code))


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

        call.__name__, call.__qualname__, call.__module__ = f.__name__, f.__qualname__, f.__module__
        call.__doc__ = f.__doc__
        call.__dict__.update(f.__dict__, __wrapped__=f)
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
        if type(x) not in FUNCTIONS:
            return self.lend_parts(x, lend)
        if not is_of_user(x):
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
        return len(self._called | kept) == len(self._real)

    def seen(self, f: Any) -> Any:
        """The function to give when the code runs again: the program's, if it is looked at."""
        key = id(f)
        if key not in self._real or key in self._called or self._given[key]() is not None:
            return self.lend(f)
        function = f.__func__ if type(f) is types.MethodType else f
        for name in _SEEN:
            self._recorder.note_value(
                reads.ATTRIBUTE, function, name, getattr(function, name, None)
            )
        if getattr(function, "__dict__", None):
            self._recorder.deep(function.__dict__)
        return f
