"""CPython's bytecode, as far as anyshape reads it: instructions by what they do.

The names of instructions differ between versions of Python. Since 3.13 a truth value is asked for
by `TO_BOOL`, or by the comparison itself, and the jump that follows asks nothing.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Final, NamedTuple

_GLOBAL: Final = frozenset(
    ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
)
_HIDDEN: Final = 0x20 | 0x80 | 0x200  # generators, coroutines, asynchronous generators
JUMPS: Final = frozenset(dis.hasjrel + dis.hasjabs)
_KEPT: Final = 4096  # so many functions are remembered


class Span(NamedTuple):
    """The instructions of a function from `start` to before `end`, in bytes."""

    start: int
    end: int

    def has(self, at: int) -> bool:
        """Whether an instruction is in the span."""
        return self.start <= at < self.end


@functools.lru_cache(maxsize=_KEPT)
def truth_tests(code: CodeType) -> frozenset[int]:
    """The instructions that ask for the truth of what the function itself has computed."""
    steps = dis.get_instructions(code)
    return frozenset(i.offset for i in steps if compares_and_asks(i) or asks_truth(i))


def compares_and_asks(i: dis.Instruction) -> bool:
    """Whether an instruction compares, and asks for the truth of the result."""
    return i.opname == "COMPARE_OP" and i.argrepr.startswith("bool(")


def asks_truth(i: dis.Instruction) -> bool:
    """Whether an instruction does nothing but ask for a truth, and jump."""
    return i.opname in ("TO_BOOL", "UNARY_NOT") or ("_IF_" in i.opname and "NONE" not in i.opname)


@functools.lru_cache(maxsize=_KEPT)
def iterations(code: CodeType) -> tuple[Span, ...]:
    """The spans in which an iterator of a `for` loop is in use."""
    steps = dis.get_instructions(code)
    return tuple(Span(i.offset, int(i.argval)) for i in steps if i.opname == "FOR_ITER")


@functools.lru_cache(maxsize=_KEPT)
def repetitions(code: CodeType) -> tuple[Span, ...]:
    """The spans that a jump back runs again."""
    jumps = [i for i in dis.get_instructions(code) if i.opcode in JUMPS]
    return tuple(Span(i.argval, i.offset + 1) for i in jumps if i.argval <= i.offset)


@functools.lru_cache(maxsize=_KEPT)
def catches(code: CodeType) -> bool:
    """Whether a function, or one defined in it, has an `except` or a `finally`."""
    steps = [i.opname for i in dis.get_instructions(code)]
    after = [steps[i + 1] for i, name in enumerate(steps) if name == "PUSH_EXC_INFO"]
    return any(name != "WITH_EXCEPT_START" for name in after) or any(map(catches, inner(code)))


@functools.lru_cache(maxsize=_KEPT)
def global_names(code: CodeType) -> frozenset[str]:
    """The global names that a function, or one defined in it, reads or sets."""
    names = {str(i.argval) for i in dis.get_instructions(code) if i.opname in _GLOBAL}
    return frozenset(names).union(*map(global_names, inner(code)))


def inner(code: CodeType) -> list[CodeType]:
    """The functions that are defined directly inside a function."""
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def hides_state(code: CodeType) -> bool:
    """Whether a frame of the function keeps state between calls: a generator or a coroutine."""
    return bool(code.co_flags & _HIDDEN)
