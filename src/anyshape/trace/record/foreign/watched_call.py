"""Calls of code without a twin that is given objects of the user's: it may call their methods.

Which ones it calls, such as `write` of what `json.dump` writes to, no name tells. So the call is
watched: where a function of the user's begins that is no twin, it is stopped, and the call refused.
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
    from collections.abc import Callable, Iterable

    from anyshape.trace.record.reader import Reader

_APART: Final = (torch.Tensor, torch.nn.Module, type, types.ModuleType, types.FunctionType)


def call_watched(recorder: Reader, f: Any, given: Iterable[Any], call: Callable[[], Any]) -> Any:
    """The result of a call of `f`; it is watched if there are methods of the user's in what is
    given, or in the object whose method it is.
    """
    if in_package(type(f).__module__, "anyshape"):  # which calls twins
        return call()
    if not any(has_methods(part) for a in (getattr(f, "__self__", f), *given) for part in _held(a)):
        return call()
    before = sys.getprofile()
    if getattr(before, "__module__", "") == __name__:  # a call that is watched calls the program
        return call()
    if before is not None:
        raise recorder.refusal("an object is given to code that is not recorded, in a profile")
    began: list[str] = []

    def watch(frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and _is_code_of_user(code):
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


def has_methods(x: Any) -> bool:
    """Whether an object is a method of the user's, or has some."""
    kind = type(x)
    if kind is types.MethodType:
        return _is_users(x.__func__)
    if kind in ATOMS or isinstance(x, _APART) or not kind.__flags__ & HEAP:
        return False
    own = getattr(x, "__dict__", None)
    held = [*own.values()] if type(own) is dict else []
    held += [f for base in kind.__mro__ if base.__flags__ & HEAP for f in vars(base).values()]
    return any(map(_is_users, held))


def _is_users(f: Any) -> bool:
    if isinstance(f, property):
        f = f.fget
    elif isinstance(f, staticmethod | classmethod):
        f = f.__func__
    return type(f) is Function and _is_code_of_user(f.__code__)


def _is_code_of_user(code: types.CodeType) -> bool:
    return is_twinned(code) and not is_twin(code) and not is_framework(code.co_filename)


def _refusal(recorder: Reader, name: str) -> Exception:
    return recorder.refusal(f"{name} is called by code that is not recorded")
