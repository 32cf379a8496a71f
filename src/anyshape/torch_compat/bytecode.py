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
_JUMPS: Final = frozenset(dis.hasjrel + dis.hasjabs)
_ENDS: Final = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_KEPT: Final = 4096  # so many functions are remembered


def compares_and_asks(i: dis.Instruction) -> bool:
    """Whether an instruction compares, and asks for the truth of the result."""
    return i.opname == "COMPARE_OP" and i.argrepr.startswith("bool(")


def asks_truth(i: dis.Instruction) -> bool:
    """Whether an instruction does nothing but ask for a truth, and jump."""
    return i.opname in ("TO_BOOL", "UNARY_NOT") or ("_IF_" in i.opname and "NONE" not in i.opname)


def names_of_step(step: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction names, in order; since 3.13 there may be two."""
    return step.argval if type(step.argval) is tuple else (step.argval,)


@functools.lru_cache(maxsize=_KEPT)
def repeated(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions in loops: each may run again after itself.

    Not all jumps back make a loop: from 3.12 on, handlers of exceptions are at the end. With a jump
    back from `b` to `a`, an instruction is in a loop if `a` leads to it and it leads to `b`.
    """
    steps = list(dis.get_instructions(code))
    forward = [[way.to for way in ways] for ways in ways_of(steps)]
    places = {step.offset: i for i, step in enumerate(steps)}
    for handler in handlers_of(code):
        for i, step in enumerate(steps):
            if handler.start <= step.offset < handler.end:
                forward[i].append(places[handler.target])
    backward: list[list[int]] = [[] for _ in steps]
    for i, ways in enumerate(forward):
        for to in ways:
            backward[to].append(i)
    found: set[int] = set()
    for b, ways in enumerate(forward):
        for a in ways:
            if a <= b and not found.issuperset((a, b)):
                found |= _reached(a, forward) & _reached(b, backward)
    return frozenset(steps[i].offset for i in found)


def _reached(start: int, ways: list[list[int]]) -> set[int]:
    """The instructions that one leads to, itself among them."""
    found = {start}
    todo = [start]
    while todo:
        new = [i for i in ways[todo.pop()] if i not in found]
        found.update(new)
        todo += new
    return found


class Way(NamedTuple):
    """An instruction, by index, that may follow another, and whether that one jumps there."""

    to: int
    jump: bool


def ways_of(steps: list[dis.Instruction]) -> list[list[Way]]:
    """What may follow each instruction, exceptions aside."""
    places = {step.offset: i for i, step in enumerate(steps)}
    found = []
    for i, step in enumerate(steps):
        ways = [Way(places[step.argval], True)] if step.opcode in _JUMPS else []
        always = step.opname.startswith("JUMP_") and "_IF_" not in step.opname
        if not always and step.opname not in _ENDS and i + 1 < len(steps):
            ways.append(Way(i + 1, False))
        found.append(ways)
    return found


class Handler(NamedTuple):
    """The instructions from `start` to before `end` go on at `target` when they raise.

    The stack then keeps its first `depth` values and holds `more` others.
    """

    start: int
    end: int
    target: int
    depth: int
    more: int


def handlers_of(code: CodeType) -> list[Handler]:
    """The exception table of a function, in bytes."""
    table = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]  # not in typeshed
    return [Handler(x.start, x.end, x.target, x.depth, x.lasti + 1) for x in table]


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
