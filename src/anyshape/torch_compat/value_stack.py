"""The value stack of a frame: operands of expressions that are half done, iterators of loops.

Python has no function that shows it. It lies in memory behind the local variables of the frame; the
offsets below are those of CPython 3.11 to 3.13 on 64 bits. Elsewhere nothing is readable, and
`values_under` raises `Unreadable`.

While a frame runs, or has called a function in C, only the compiler knows how deep its stack is.
While it waits for a Python function that it has called directly, the frame says so itself.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import sys
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.branch_stack import EXIT, stacks_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from anyshape.torch_compat.branch_stack import Slot

_FRAME: Final = 24  # in a frame object: the address of the interpreter's frame
_TOP: Final = 64  # in that: the height of the stack with the variables, -1 while it changes
_SLOTS: Final = 72  # in that: the variables, then the stack
_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
_CALLS: Final = ("CALL", "CALL_FUNCTION_EX", "CALL_KW")


class Unreadable(Exception):
    """The stack of a frame cannot be read."""


class Empty:
    """Stands for a place on the stack that holds no object."""


def values_under(frame: FrameType, depth: int) -> list[Any]:
    """The lowest `depth` values on the stack of a frame that runs; exits of `with` are `Empty`."""
    if depth == 0:
        return []
    return _values(frame, depth)


def values_in_call(frame: FrameType, called: FrameType) -> list[Any]:
    """The values on the stack of a frame that waits for `called`, but for the arguments.

    Raises `Unreadable` if a function in C is between the two that may have state of its own.
    """
    if not _is_known():
        raise Unreadable
    top = ctypes.c_int.from_address(_address(frame) + _TOP).value
    if top >= 0:
        return _values(frame, top - _variables(frame.f_code))
    found = _step(frame.f_code, frame.f_lasti)
    if found is None:
        raise Unreadable
    slots, step = found
    if step.opname not in _CALLS:
        raise Unreadable
    kept = len(slots) + dis.stack_effect(step.opcode, step.arg, jump=False) - 1
    values = _values(frame, kept + 2)
    callee = values[kept + 1] if values[kept] is Empty else values[kept]
    if not _is_direct(callee, called.f_code):
        raise Unreadable
    return values[:kept]


def _is_direct(callee: Any, code: CodeType) -> bool:
    """Whether a call does nothing but run a function with this code."""
    while True:
        if type(callee) is functools.partial:
            callee = callee.func
        elif type(callee) is types.MethodType:
            callee = callee.__func__
        elif isinstance(callee, torch.nn.Module):
            callee = type(callee).__call__
        else:
            return type(callee) is types.FunctionType and callee.__code__ is code


def _values(frame: FrameType, depth: int) -> list[Any]:
    code = frame.f_code
    found = _step(code, frame.f_lasti)
    slots = None if found is None else found[0]
    if not _is_known() or slots is None or depth > len(slots):
        raise Unreadable
    start = _address(frame) + _SLOTS + _WORD * _variables(code)
    return [Empty if slots[k] is EXIT else _object(start + _WORD * k) for k in range(depth)]


def _object(address: int) -> Any:
    found = ctypes.c_void_p.from_address(address)
    return Empty if found.value is None else ctypes.cast(found, ctypes.py_object).value


def _address(frame: FrameType) -> int:
    found = ctypes.c_void_p.from_address(id(frame) + _FRAME).value
    assert found is not None
    return found


@functools.lru_cache(maxsize=1024)
def _variables(code: CodeType) -> int:
    """How many places the variables of a function take; one that closures share takes one."""
    shared = [name for name in code.co_cellvars if name not in code.co_varnames]
    return code.co_nlocals + len(shared) + len(code.co_freevars)


@functools.lru_cache(maxsize=4096)
def _step(code: CodeType, at: int) -> tuple[tuple[Slot, ...], dis.Instruction] | None:
    """The instruction that an offset is in, and the stack before it."""
    steps = [step for step in dis.get_instructions(code) if step.offset <= at]
    slots = stacks_of(code).get(steps[-1].offset)
    return None if slots is None else (slots, steps[-1])


@functools.cache
def _is_known() -> bool:
    """Whether the offsets are those of this Python."""
    return (
        sys.implementation.name == "cpython"
        and (3, 11) <= sys.version_info[:2] <= (3, 13)
        and _WORD == 8
    )
