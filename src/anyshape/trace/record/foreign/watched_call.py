"""Calls of code without a twin that is given objects of the user's: it may call their methods.

Which ones it calls, such as `write` of what `json.dump` writes to, no name tells. So the call is
watched: where one of their methods begins, it is stopped, and the call refused. Other functions of
the user's that run meanwhile, such as callbacks of the garbage collector, are none of its business.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package, is_framework
from anyshape.trace.record.foreign.passive import parts_of_call
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, Function
from anyshape.trace.record.read.read import is_array
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from anyshape.trace.record.reader import Reader

_APART: Final = (torch.Tensor, torch.nn.Module, type, types.ModuleType, types.FunctionType)


def call_watched(recorder: Reader, f: Any, given: Iterable[Any], call: Callable[[], Any]) -> Any:
    """The result of a call of `f`; it is watched if there are methods of the user's in what is
    given, or in the object whose method it is.
    """
    if in_package(type(f).__module__, "anyshape"):  # which calls twins
        return call()
    objects = [part for a in (getattr(f, "__self__", f), *given) for part in _held(a)]
    methods = {code for x in objects for code in _methods_of(x)}
    if not methods:
        return call()
    before = sys.getprofile()
    if getattr(before, "__module__", "") == __name__:  # a call that is watched calls the program
        return call()
    if before is not None:
        raise recorder.refusal("an object is given to code that is not recorded, in a profile")
    began: list[str] = []

    def watch(frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code in methods:
            began.append(code.co_qualname)
            raise _refusal(recorder, code.co_qualname)

    sys.setprofile(watch)
    try:
        result = call()
    finally:
        sys.setprofile(None)
    if began:  # and the error was handled
        raise _refusal(recorder, began[0])
    return result


def _held(x: Any) -> tuple[Any, ...]:
    """An object with what it holds, if it is no object of Python code."""
    kind = type(x)
    if kind in ATOMS or isinstance(x, _APART):
        return ()
    if is_array(x) and x.dtype == object:
        return (x, *x.flat)
    if kind in CONTAINERS:
        return parts_of_call(x)
    return (x, *gc.get_referents(x))


def _methods_of(x: Any) -> Iterator[types.CodeType]:
    """The code of a method of the user's, or of those that an object has; but for its finalizer."""
    kind = type(x)
    if kind is types.MethodType:
        yield from _codes(x.__func__)
    elif kind not in ATOMS and not isinstance(x, _APART) and kind.__flags__ & HEAP:
        own = getattr(x, "__dict__", None)
        for f in own.values() if type(own) is dict else ():
            yield from _codes(f)
        for base in kind.__mro__:
            for name, f in vars(base).items() if base.__flags__ & HEAP else ():
                if name != "__del__":
                    yield from _codes(f)


def _codes(f: Any) -> Iterator[types.CodeType]:
    parts = (f.fget, f.fset, f.fdel) if isinstance(f, property) else (f,)
    for part in parts:
        function = part.__func__ if isinstance(part, staticmethod | classmethod) else part
        if type(function) is Function and _is_code_of_user(function.__code__):
            yield function.__code__


def _is_code_of_user(code: types.CodeType) -> bool:
    return is_twinned(code) and not is_twin(code) and not is_framework(code.co_filename)


def _refusal(recorder: Reader, name: str) -> Exception:
    return recorder.refusal(f"{name} is called by code that is not recorded")
