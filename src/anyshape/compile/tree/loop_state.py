"""The state of a program at a decision, so that a loop closes when its state repeats.

The state is what Python holds in all frames of the program: where each frame is, and its locals, in
which tensors count by what is known of them and not by their data. Two decisions in the same state
are followed by the same calls on other tensors. What cannot be seen (iterators of `for` loops,
generators, functions of Python's own that are in the middle of something, objects of unknown kinds)
makes a state that equals no other: None. So only loops of the compiled function itself, or of the
forward of a compiled module, close.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import is_own
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat import bytecode
from anyshape.torch_compat.call_frame import MODULE_CALL
from anyshape.trace.capture import trace_call
from anyshape.trace.graph import RESULT
from anyshape.trace.state.outside import is_library
from anyshape.trace.state.substitutes import is_filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from anyshape.tensor.meta import Meta
    from anyshape.trace.graph import Value


class LoopState(NamedTuple):
    """The tensors of a state in the order in which they were met, and a key of all the rest."""

    values: list[Value]
    key: Any


class Unsettled(Exception):
    """What is not known of a state without deciding something."""


_PLAIN: Final = (int, float, bool, str, bytes, type(None), torch.dtype, torch.device, type(...))
_SAME: Final = (torch.Tensor, torch.nn.Module, types.BuiltinFunctionType, types.ModuleType)


def state_of(live: Callable[[], list[Value]]) -> LoopState | None:
    """The state now; None where it cannot be seen whole. `live` gives the tensors that are held.

    One tensor may be held by Python's own stack alone, as the one whose truth is being asked: there
    is but one place for it, so it is the last of the state's.
    """
    reader = _Reader()
    try:
        stack = list(_frames())
        if not _is_seen_whole(stack):
            return None
        frames = [reader.frame(f) for f in stack]
        held = [v for v in live() if v.kind == RESULT and not reader.knows(v)]
        if len(held) == 1:
            reader.values += held
            held = []
        metas = [_meta_key(v.meta) for v in reader.values]
        roots = [str(v.root) if v.root.node is None else reader.rooted(v) for v in reader.values]
    except Unsettled:
        return None
    return LoopState(reader.values, (*frames, *metas, *roots, *map(str, held)))


def _is_seen_whole(stack: list[FrameType]) -> bool:
    """Whether the program is in a loop, at a branch of the function itself: a function of Python's
    own in between, as `any` or `sorted`, would have a state that nobody sees.
    """
    if not stack or not all(f.f_code.co_filename.endswith(MODULE_CALL) for f in stack[1:]):
        return False
    code, at = stack[0].f_code, stack[0].f_lasti
    return at in bytecode.truth_tests(code) and _is_in(at, bytecode.repetitions(code))


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


def _is_in(at: int, spans: tuple[bytecode.Span, ...]) -> bool:
    return any(span.has(at) for span in spans)


class _Reader:
    """Reads values into keys; a container or tensor that is met again is known by its number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[int, int] = {}
        self._roots: dict[int, int] = {}

    def frame(self, frame: FrameType) -> Any:
        code, at = frame.f_code, frame.f_lasti
        if bytecode.hides_state(code) or _is_in(at, bytecode.iterations(code)):
            raise Unsettled
        names = frame.f_locals
        return (code, at, tuple([(n, self.read(x)) for n, x in names.items()]))

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
        if kind is SymTensor:
            number = self._again(x._value)
            if number is None:
                number = self._numbers[id(x._value)]
                self.values.append(x._value)
            return ("tensor", number)
        if kind in (SymInt, SymBool, SymFloat):
            return (kind, repr(x))
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


def _meta_key(meta: Meta) -> Any:
    layout = meta.layout.found()
    offset = layout.offset() if callable(layout.offset) else layout.offset
    strides = None if layout.strides is None else tuple(map(_size, layout.strides))
    shape = tuple(map(_size, meta.shape))
    lies = (layout.order, strides, _size(offset), layout.uncertain)
    return (shape, lies, meta.dtype, str(meta.device), meta.requires_grad)


def _size(n: Any) -> Any:
    return repr(n) if type(n) is SymInt else n
