"""The local variables of a function whose values may still be read, by instruction.

A variable is dead after an instruction if on every way from there it is assigned before it is read,
or never read. Variables that closures share are never dead, and none is in a function that may read
its variables by name. Instructions of an unknown version of Python that name a variable read it.
"""

from __future__ import annotations

import bisect
import dis
import functools
from typing import TYPE_CHECKING, Final

from anyshape.torch_compat.bytecode import handlers_of, names_of_step, ways_of

if TYPE_CHECKING:
    from types import CodeType

_BY_NAME: Final = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"))
_STORES: Final = ("STORE_FAST", "DELETE_FAST", "STORE_FAST_STORE_FAST", "STORE_FAST_MAYBE_NULL")
_STORE_AND_LOAD: Final = "STORE_FAST_LOAD_FAST"


def live_after(code: CodeType, at: int) -> frozenset[str]:
    """The variables that may be read after the instruction that `at` is in."""
    offsets, names = _live(code)
    return names[bisect.bisect_right(offsets, at) - 1]


@functools.lru_cache(maxsize=1024)
def _live(code: CodeType) -> tuple[list[int], list[frozenset[str]]]:
    """The offsets of all instructions, and the variables that may be read after each."""
    steps = list(dis.get_instructions(code))
    shared = frozenset(code.co_cellvars + code.co_freevars)
    if not _BY_NAME.isdisjoint(code.co_names):
        shared |= frozenset(code.co_varnames)
    follow = [{way.to for way in ways} for ways in ways_of(steps)]
    places = {step.offset: i for i, step in enumerate(steps)}
    for handler in handlers_of(code):
        for i, step in enumerate(steps):
            if handler.start <= step.offset < handler.end:
                follow[i].add(places[handler.target])
    effects = [_effect(step) for step in steps]
    before: list[frozenset[str]] = [shared] * len(steps)
    after = list(before)
    changes = True
    while changes:
        changes = False
        for i in reversed(range(len(steps))):
            after[i] = shared.union(*[before[to] for to in follow[i]])
            reads, writes = effects[i]
            found = (after[i] - writes) | reads | shared
            changes |= found != before[i]
            before[i] = found
    return [step.offset for step in steps], after


def _effect(step: dis.Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """The local variables that an instruction reads, and those that it then assigns.

    Where one assigns and then reads, the variable that it reads counts as read before.
    """
    none: frozenset[str] = frozenset()
    if step.opcode not in dis.haslocal:
        return none, none
    names = names_of_step(step)
    if step.opname in _STORES:
        return none, frozenset(names)
    if step.opname == _STORE_AND_LOAD:
        return frozenset(names[1:]), frozenset(names[:1])
    return frozenset(names), none
