"""Frames of torch on Python's stack, known by the names of functions, variables and files."""

from __future__ import annotations

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
