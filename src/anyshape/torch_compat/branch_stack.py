"""The branches of a function, and what the value stack of its frame holds there.

A value is on the stack of a frame, and not in its locals, while an expression or a statement is
half done: an argument of a call, the iterator of a `for` loop. No Python code can see it.

The instructions differ between versions of Python, so the stack follows from what `dis` says of any
instruction: its stack effect, its jump target, the exception table. The names used are those of
3.11, 3.12 and 3.13 together. An instruction of another version is known by its stack effect alone;
at worst, a branch is missed.
"""

from __future__ import annotations

import dis
import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.torch_compat.bytecode import (
    asks_truth,
    compares_and_asks,
    handlers_of,
    hides_state,
    names_of_step,
    repeated,
    ways_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import CodeType, FrameType

UNKNOWN: Final = object()
_INERT: Final = ("NOP", "EXTENDED_ARG")
_METHODS: Final = ("LOAD_ATTR", "LOAD_METHOD")  # with the object below it
_LOCAL: Final = frozenset(dis.haslocal + dis.hasfree)


class Slot(NamedTuple):
    """Where a value on the stack comes from, as far as it can be told without running."""

    kind: str
    name: Any = None
    owner: Any = None  # the slot that an attribute was taken of

    def value(self, frame: FrameType) -> Any:
        """The value of a constant, a variable or an attribute as it is now, or `UNKNOWN`."""
        if self.kind == _CONSTANT:
            return self.name
        if self.kind == _VARIABLE:
            return frame.f_locals.get(self.name, UNKNOWN)
        if self.kind == _GLOBAL:
            return frame.f_globals.get(self.name, frame.f_builtins.get(self.name, UNKNOWN))
        if self.kind == _ATTRIBUTE:
            owner = self.owner.value(frame)
            return (
                UNKNOWN if owner is UNKNOWN else inspect.getattr_static(owner, self.name, UNKNOWN)
            )
        return UNKNOWN

    def is_number(self, items: Collection[int]) -> bool:
        """Whether it is computed from constants and items, taken at these offsets."""
        if self.kind == _ITEM:
            return self.name in items
        if self.kind == _BINARY:
            return all(part.is_number(items) for part in self.name)
        return self.kind == _CONSTANT and type(self.name) in (int, float)


_CONSTANT: Final = "constant"
_VARIABLE: Final = "variable"
_GLOBAL: Final = "global"
_ATTRIBUTE: Final = "attribute"
_METHOD: Final = "method"  # by its name, about to be called
_ITEM: Final = "item"  # the result of `x.item()`, called at an offset
_BINARY: Final = "binary"  # the result of an operator on two slots
_OTHER: Final = Slot("other")
EXIT: Final = Slot("exit")  # what ends a `with` statement


class Branch(NamedTuple):
    """An instruction that asks for the truth of a value; from 3.13 on it may compare, too. Or one
    that asks an iterator whether there is one more round.
    """

    compared: tuple[Slot, Slot] | None
    depth: int  # of the stack below what the branch takes
    repeats: bool  # whether it is in a loop
    place: Any  # equal for branches that go on at the same instructions
    walks: bool = False  # whether it asks an iterator for one more round, and keeps that

    def operands(self, frame: FrameType) -> list[Any]:
        """The values of those operands of the comparison that can be read from the frame."""
        if self.compared is None:
            return []
        left, right = self.compared
        values = [right.value(frame)]
        if left.kind == _CONSTANT or right.kind != _OTHER.kind:  # nothing ran since `left` was read
            values.append(left.value(frame))
        return [x for x in values if x is not UNKNOWN]

    def compares_number(self, items: Collection[int]) -> bool:
        """Whether an operand of the comparison is a number; at these offsets, `x.item()` was called
        of a tensor.
        """
        return self.compared is not None and any(slot.is_number(items) for slot in self.compared)


@functools.lru_cache(maxsize=1024)
def branches_of(code: CodeType) -> dict[int, Branch]:
    """The branches of a function, by offset."""
    steps = list(dis.get_instructions(code))
    stacks = stacks_of(code)
    found = {}
    for i, step in enumerate(steps):
        stack = stacks.get(step.offset)
        if stack is None:
            continue
        if step.opname == "FOR_ITER":
            is_in_loop = step.offset in repeated(code)
            found[step.offset] = Branch(None, len(stack), is_in_loop, step.offset, walks=True)
            continue
        compares = compares_and_asks(step)
        if not compares and not asks_truth(step):
            continue
        both = compares or steps[i - 1].opname == "COPY"  # `a or b` keeps the value that it asks
        compared = (stack[-2], stack[-1]) if compares else None
        depth = len(stack) - (2 if both else 1)
        place = _place(steps, i)
        found[step.offset] = Branch(compared, depth, step.offset in repeated(code), place)
    return found


@functools.lru_cache(maxsize=1024)
def stacks_of(code: CodeType) -> dict[int, tuple[Slot, ...]]:
    """The stack before each reachable instruction, by offset."""
    steps = list(dis.get_instructions(code))
    return {steps[i].offset: stack for i, stack in _stacks(code, steps).items()}


def _place(steps: list[dis.Instruction], i: int) -> Any:
    """Where a branch goes on if true, and if false; its own offset if it does more than that.

    The test of a `while` is in the bytecode twice, before the loop and at its end.
    """
    jump = i if "_IF_" in steps[i].opname else i + 1
    while jump < len(steps) and steps[jump].opname == "EXTENDED_ARG":
        jump += 1
    name = steps[jump].opname if jump < len(steps) else ""
    if not name.startswith("POP_JUMP_") or not name.endswith(("_IF_TRUE", "_IF_FALSE")):
        return steps[i].offset
    places = {step.offset: k for k, step in enumerate(steps)}
    sides = [places[steps[jump].argval], jump + 1]
    sides = [_target(steps, places, side) for side in sides]
    return tuple(sides if name.endswith("TRUE") else reversed(sides))


def _target(steps: list[dis.Instruction], places: dict[int, int], i: int) -> int:
    """The instruction that is reached from one through jumps alone."""
    for _ in range(len(steps)):
        name = steps[i].opname
        if name in _INERT:
            i += 1
        elif name.startswith("JUMP") and "_IF_" not in name:
            i = places[steps[i].argval]
        else:
            break
    return steps[i].offset


# ------------------------------------------------------------------ the value stack


def _stacks(code: CodeType, steps: list[dis.Instruction]) -> dict[int, tuple[Slot, ...]]:
    """The stack before each reachable instruction, by index; empty for generators, whose stack
    effects `dis` does not know.

    Paths that meet and disagree on a slot make it `_OTHER`, so a fixed point is reached.
    """
    if hides_state(code):
        return {}
    places = {step.offset: i for i, step in enumerate(steps)}
    handlers = handlers_of(code)
    ways = ways_of(steps)
    stacks: dict[int, tuple[Slot, ...]] = {}
    todo: list[tuple[int, tuple[Slot, ...]]] = [(0, ())]
    while todo:
        i, stack = todo.pop()
        known = stacks.get(i)
        if known is not None:
            if len(known) != len(stack):
                return {}
            stack = tuple([a if a == b else _OTHER for a, b in zip(known, stack, strict=True)])
            if stack == known:
                continue
        stacks[i] = stack
        step = steps[i]
        todo += [(way.to, _after(stack, step, way.jump)) for way in ways[i]]
        todo += [
            (places[h.target], stack[: h.depth] + (_OTHER,) * h.more)
            for h in handlers
            if h.start <= step.offset < h.end
        ]
    return stacks


def _after(stack: tuple[Slot, ...], step: dis.Instruction, jump: bool) -> tuple[Slot, ...]:
    """The stack after an instruction."""
    name = step.opname
    if name in _INERT:
        return stack
    if name == "BEFORE_WITH":
        return (*stack[:-1], EXIT, _OTHER)
    if name == "COPY":
        return (*stack, stack[-int(step.argval)])
    if name == "SWAP":
        n = int(step.argval)
        return (*stack[:-n], stack[-1], *stack[1 - n : -1], stack[-n])
    effect = dis.stack_effect(step.opcode, step.arg, jump=jump)
    if name in _METHODS and effect == 1:
        return (*stack[:-1], Slot(_METHOD, step.argval), _OTHER)
    if name == "CALL":
        end = len(stack) + effect - 1
        is_item = len(stack) - end == 2 and Slot(_METHOD, "item") in stack[end:]
        return (*stack[:end], Slot(_ITEM, step.offset) if is_item else _OTHER)
    if name == "BINARY_OP":
        return (*stack[:-2], Slot(_BINARY, stack[-2:]))
    loaded = _loaded(step)
    if loaded or name == "PUSH_NULL":
        return stack + (loaded if len(loaded) == effect else (_OTHER,) * effect)
    if name == "LOAD_ATTR" and effect == 0:
        return (*stack[:-1], Slot(_ATTRIBUTE, step.argval, stack[-1]))
    if name.startswith("STORE_") and step.opcode in _LOCAL:
        stale = [Slot(_VARIABLE, x) for x in names_of_step(step)]
        stack = tuple([_OTHER if _root(slot) in stale else slot for slot in stack])
    kept = stack[: len(stack) + min(effect, 0)]
    if kept and kept[-1] is not EXIT:  # the instruction may have replaced it
        kept = (*kept[:-1], _OTHER)
    return kept + (_OTHER,) * effect


def _loaded(step: dis.Instruction) -> tuple[Slot, ...]:
    """What an instruction pushes that only reads a constant or variables."""
    if step.opname == "LOAD_CONST":
        return (Slot(_CONSTANT, step.argval),)
    if step.opname == "LOAD_GLOBAL":
        return (Slot(_GLOBAL, step.argval),)
    if step.opname.startswith("LOAD_") and step.opcode in _LOCAL:
        return tuple([Slot(_VARIABLE, name) for name in names_of_step(step)])
    return ()


def _root(slot: Slot) -> Slot:
    while slot.owner is not None:
        slot = slot.owner
    return slot
