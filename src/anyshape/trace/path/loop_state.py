"""The Python state of a program at a graph break; a loop closes when its state repeats.

The state is what Python holds in all frames of the program: the position of each frame and its
locals. A tensor counts by its metadata, not by its data. Two decisions in the same state are
followed by the same calls on other tensors. A state equals no other, and is None, if part of it is
out of sight: a value on the stack of a frame (`torch_compat/branch.py`), an iterator, a generator,
a builtin function that has called back, an object of unknown kind. So only loops of the compiled
function itself, or of the forward of a compiled module, close.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import is_own
from anyshape.symbolic.numpy_scalar import scalar_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat.branch import branches_in_loops
from anyshape.torch_compat.bytecode import hides_state, iterations
from anyshape.torch_compat.call_frame import MODULE_CALL
from anyshape.trace.capture import trace_call
from anyshape.trace.graph import RESULT, SYMBOLIC, Value, leaves
from anyshape.trace.record.territory import is_filled, is_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from anyshape.tensor.meta import Meta
    from anyshape.torch_compat.branch import Branch
    from anyshape.trace.graph import Node


class Spelled(str):
    """The text of a symbolic number in a key."""

    __slots__ = ()


class LoopState(NamedTuple):
    """The tensors of a state in the order in which they were met, and a key of all the rest."""

    values: list[Value]
    key: Any


class Unsettled(Exception):
    """What is not known of a state without deciding something."""


_PLAIN: Final = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device, type(...))
_SAME: Final = (torch.Tensor, torch.nn.Module, types.BuiltinFunctionType, types.ModuleType)
_SYMBOLIC: Final = (SymTensor, *SYMBOLIC)
_TRUTHS: Final = frozenset(kind.__bool__.__code__ for kind in _SYMBOLIC)  # of `__bool__`
_WITHOUT_ELEMENTS: Final = (*_PLAIN, *_SYMBOLIC, torch.Tensor, torch.nn.Parameter)


def state_of(
    live: Callable[[], list[Value]], recent: Sequence[Node], written: list[Any]
) -> LoopState | None:
    """The state now, or None if part of it is out of sight. `live` gives the tensors that are held;
    `recent` are the calls since the last decision; `written` is what the program has written
    outside itself.

    One tensor may be held by Python's stack alone: the one whose truth is being asked. It comes
    last among the values of the state.
    """
    reader = _Reader()
    try:
        stack = list(_frames())
        branch = _branch(stack)
        if branch is None:
            return None
        frames = [reader.frame(f) for f in stack]
        frames += [reader.read(x) for x in written]
        there = live()
        held = [v for v in there if v.kind == RESULT and not reader.knows(v)]
        if not _is_of_result(branch, stack[0], held, there, recent):
            return None
        if len(held) == 1:
            reader.values += held
            held = []
        metas = [_meta_key(v.meta) for v in reader.values]
        roots = [str(v.root) if v.root.node is None else reader.rooted(v) for v in reader.values]
    except Unsettled:
        return None
    return LoopState(reader.values, (*frames, *metas, *roots, *map(str, held)))


def _branch(stack: list[FrameType]) -> Branch | None:
    """The branch that the function itself is at, in a loop of its own; None if there is none.

    A builtin function in between, such as `any` or `sorted`, would have a state out of sight.
    """
    if not stack or not all(f.f_code.co_filename.endswith(MODULE_CALL) for f in stack[1:]):
        return None
    return branches_in_loops(stack[0].f_code).get(stack[0].f_lasti)


def _is_of_result(
    branch: Branch,
    frame: FrameType,
    held: list[Value],
    live: list[Value],
    recent: Sequence[Node],
) -> bool:
    """Whether the branch asks for the truth of its comparison's result.

    An instruction that both compares and branches may ask for others first: those of the elements
    of two lists, or those that a rule for sizes needs. A rule does not ask through `__bool__`.
    Elements are compared only if both operands have some, and keep the operands alive; the result
    is asked for once they are released. So an operand that is dead or has no elements is proof, and
    so is a number that `x.item()`, called by the function itself, has just given.
    """
    if branch.compared is None:
        return True
    if _entry(frame).f_code not in _TRUTHS:
        return False
    if any(type(x) in _WITHOUT_ELEMENTS for x in branch.operands(frame)):
        return True
    sites = [n.site for n in recent if n.func is torch.Tensor.item and n.site is not None]
    if branch.compares_number({s.instruction for s in sites if s.code is frame.f_code}):
        return True
    if len(held) != 1 or held[0].node is None:
        return False
    there = {id(v) for v in live}
    return any(type(v) is Value and id(v) not in there for v in leaves(held[0].node.args))


def _entry(caller: FrameType) -> FrameType:
    """The function of anyshape that the program has called."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not caller:
        frame = frame.f_back
    assert frame is not None
    return frame


def _frames() -> Iterator[FrameType]:
    """The frames of the program that is traced, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            if code is trace_call.__code__:
                return
        else:
            yield frame
        frame = frame.f_back


class _Reader:
    """Reads values into keys; a container or tensor that is met again is known by its number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[int, int] = {}
        self._roots: dict[int, int] = {}

    def frame(self, frame: FrameType) -> Any:
        code, at = frame.f_code, frame.f_lasti
        if hides_state(code) or any(span.has(at) for span in iterations(code)):
            raise Unsettled
        return (code, at, tuple([(n, self.read(x)) for n, x in frame.f_locals.items()]))

    def knows(self, value: Value) -> bool:
        return any(v is value for v in self.values)

    def rooted(self, value: Value) -> int:
        return self._roots.setdefault(id(value.root), len(self._roots))

    def _again(self, x: Any) -> int | None:
        """The number of an object that was met before; a new one gets the next."""
        known = self._numbers.get(id(x))
        if known is None:
            self._numbers[id(x)] = len(self._numbers)
        return known

    def read(self, x: Any) -> Any:
        kind = type(x)
        value = _value_of(x)
        if value is not None:
            number = self._again(value)
            if number is None:
                number = self._numbers[id(value)]
                self.values.append(value)
            return ("tensor", number)
        if kind in SYMBOLIC:
            return (kind, Spelled(repr(x)), scalar_of(x))
        if kind in _PLAIN:
            return (kind, x.hex() if kind is float else x)
        if kind in (tuple, SymSize):
            return (kind, tuple([self.read(part) for part in x]))
        if isinstance(x, _SAME):
            return (kind, id(x))
        if kind is types.MethodType:
            return (kind, self.read(x.__func__), self.read(x.__self__))
        return self._mutable(x)

    def _mutable(self, x: Any) -> Any:
        kind = type(x)
        number = self._again(x)
        if number is not None:
            return ("again", number)
        if kind is list:
            return (kind, tuple([self.read(part) for part in x]))
        if isinstance(x, dict):
            return (kind, tuple([(self.read(k), self.read(v)) for k, v in x.items()]))
        if kind is slice:
            return (kind, self.read((x.start, x.stop, x.step)))
        if kind is types.FunctionType:
            cells = [c.cell_contents for c in x.__closure__ or () if is_filled(c)]
            parts = [*cells, x.__defaults__, x.__kwdefaults__, x.__dict__]
            return (x.__code__, tuple([self.read(part) for part in parts]))
        if kind is functools.partial:
            return (kind, self.read((x.func, x.args, x.keywords)))
        if isinstance(x, type):
            data = {} if is_library(x) else {k: v for k, v in vars(x).items() if not callable(v)}
            return (
                kind,
                id(x),
                tuple([(k, self.read(v)) for k, v in data.items() if k[:2] != "__"]),
            )
        own = getattr(x, "__dict__", None)
        if own is None or hasattr(x, "__next__"):
            raise Unsettled
        return (kind, id(x), self.read(own))


def _value_of(x: Any) -> Value | None:
    """The value of a traced tensor, or of a real one that was born inside the trace."""
    if type(x) is SymTensor:
        found: Value = x._value
        return found
    value = current().value_of(x) if isinstance(x, torch.Tensor) else None
    return None if value is None or value.node is None else value


def _meta_key(meta: Meta) -> Any:
    layout = meta.layout.found()
    offset = layout.offset() if callable(layout.offset) else layout.offset
    strides = None if layout.strides is None else tuple(map(_size, layout.strides))
    shape = tuple(map(_size, meta.shape))
    lies = (layout.order, strides, _size(offset), layout.uncertain)
    return (shape, lies, meta.dtype, str(meta.device), meta.requires_grad)


def _size(n: Any) -> Any:
    return Spelled(repr(n)) if type(n) is SymInt else n
