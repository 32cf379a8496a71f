"""Assignment of a local variable of a function that is running.

From Python 3.13 on, `f_locals` writes through to the frame. Before, it is a copy, and a function of
CPython's C interface writes the copy back. The variables of a frame that waits for a call are read
from its memory by every later instruction, so the function sees the new value.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

_WRITES_THROUGH: Final = sys.version_info >= (3, 13)


def assign_local(frame: FrameType, name: str, value: Any) -> None:
    """Assign a variable that the frame has; one that closures share, too."""
    variables = frame.f_locals
    variables[name] = value
    if not _WRITES_THROUGH:
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
