"""Which functions of torch run as twins because of what they have: objects with state.

A function of torch that only computes runs as it is. One that has an optimizer, a scheduler, an
observer or a container from outside may read from it what the program depends on, and write to it
what a trace makes. The registries of ops have no such state: they keep what was looked up in them.
"""

from __future__ import annotations

import types
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.aten_op import OpOverload, OpOverloadPacket
from anyshape.trace.record.foreign.territory import is_filled
from anyshape.trace.record.object_kind import HEAP, SYMBOLIC

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_CHANGEABLE: Final = (list, dict, set, deque, bytearray)
_OPS: Final = (type(torch.ops), type(torch.ops.aten), OpOverloadPacket, OpOverload)
_STATELESS: Final = (torch.Tensor, type, BaseException, torch.library.Library, torch.SymInt,
                     torch.SymFloat, torch.SymBool, *_OPS)  # fmt: skip


def has_state(recorder: Reader, f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function gets at state from its arguments or its closure; modules have state."""
    cells = [_behind(c.cell_contents) for c in f.__closure__ or () if is_filled(c)]
    return any(_is_state(x) and not recorder.is_born(x) for x in (*args, *cells))


def _is_state(x: Any) -> bool:
    """Whether code may change it: a container or an object with attributes, no tensor, no code."""
    if isinstance(x, _CHANGEABLE):
        return True
    kind = type(x)
    is_object = kind.__flags__ & HEAP and kind not in SYMBOLIC and hasattr(x, "__dict__")
    return bool(is_object) and not isinstance(x, _STATELESS)


def _behind(x: Any) -> Any:
    """What a method or a weak reference in a closure leads to."""
    if type(x) is types.MethodType:
        return x.__self__
    return x() if isinstance(x, weakref.ref) else x
