"""Frames of torch on Python's stack, known by the names of functions, variables and files."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from types import FrameType

_CHECK: Final = "_check_with"
_MESSAGE: Final = "message"


def message_of_check(frame: FrameType | None) -> str | None:
    """The message that the user gave to `torch._check`; None where there is none.

    `frame` is the caller of a node's `expect_true`. torch passes the message to no one, so that it
    is read from the frame of the check, at most two calls above. Without it, a failed check would
    show the condition alone.
    """
    for _ in range(2):  # torch's `expect_true`, and the check that called it
        if frame is None:
            return None
        if frame.f_code.co_name == _CHECK:
            message = frame.f_locals.get(_MESSAGE)
            return str(message()) if callable(message) else None
        frame = frame.f_back
    return None


APPLY: Final[Any] = vars(torch.autograd.Function)["apply"].__func__
"""The function behind `apply` of every `autograd.Function`. A bound method keeps it under any name,
and a frame with its code is a forward that runs."""


_ASKING: Final = torch.overrides.handle_torch_function.__code__
_SPACES: Final[Any] = (torch, torch.functional, torch.nn.functional, torch.Tensor)
_BY_CODE: Final = {
    f.__code__: f for space in _SPACES for f in vars(space).values() if type(f) is FunctionType
}


def overridable(func: Any) -> Any:
    """The function that a `__torch_function__`, the caller, was asked to override.

    Functions of torch in Python give the one that is found under their own name, which the user may
    have replaced: the code that asks tells which one it is.
    """
    if type(func) is FunctionType and func.__code__ not in _BY_CODE:
        frame = sys._getframe(2)
        if frame.f_code is _ASKING and frame.f_back is not None:
            return _BY_CODE.get(frame.f_back.f_code, func)
    return func
