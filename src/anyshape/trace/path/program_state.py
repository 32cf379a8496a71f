"""The Python state of a program at a graph break: what follows depends on nothing else.

The state is what Python holds in all frames of the program: the position of each frame, the locals
that may still be read, and the values on its stack (`torch_compat/value_stack.py`), such as the
iterators of its loops. A tensor counts by its metadata, not by its data. Two decisions in the same
state are followed by the same calls on other tensors. A state equals no other, and is None, if part
of it is out of sight: a generator, a builtin function that has called back, an object of unknown
kind.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import is_own
from anyshape.symbolic.numpy_scalar import scalar_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.current import current
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat.branch_stack import branches_of
from anyshape.torch_compat.bytecode import hides_state
from anyshape.torch_compat.live_locals import live_after
from anyshape.torch_compat.value_stack import Empty, Unreadable, values_in_call, values_under
from anyshape.trace.capture import trace_call
from anyshape.trace.graph.graph import RESULT, SYMBOLIC, Value, leaves, operand_of
from anyshape.trace.graph.module_call import call_module
from anyshape.trace.path.segment_env import whole_text
from anyshape.trace.record.container.live import STEPS as _STEPS
from anyshape.trace.record.effect.iterator_state import parts_of
from anyshape.trace.record.foreign.territory import is_filled, is_hook, is_library
from anyshape.trace.sequence.list_meta import ListMeta
from anyshape.trace.sequence.sym_list import SymList
from anyshape.trace.sequence.sym_range import SymRange
from anyshape.trace.sequence.walker import WALKERS, Walker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from anyshape.tensor.meta import Meta
    from anyshape.torch_compat.branch_stack import Branch
    from anyshape.trace.graph.graph import Node
    from anyshape.trace.tracer import Tracer


class Spelled(str):
    """The text of a symbolic number in a key."""

    __slots__ = ()


class ProgramState(NamedTuple):
    """The tensors of a state in the order in which they were met, and a key of all the rest.

    `roots` tells whose memory each tensor shares: that of a constant, by the id of its tensor, of
    an input, by its name, or of a result, by its number among them. `dead` are tensors that are
    held only by variables that are not read again, by id. A state that `is_whole` may be compared
    with those of other traces: it names no value of its own trace. The objects that the key names
    by id are `kept`, so that no other gets the id. `at` is where the frames are. `form` is the key
    in parts: those of the frames, the others, and those of the tensors that are not only in lists.
    `references` counts how often the state refers to each list and the like, by id.
    """

    values: list[Value]
    key: Any
    roots: list[Any]
    dead: frozenset[int]
    is_whole: bool
    kept: list[Any]
    at: Any
    form: Any
    references: dict[int, int]


class Unsettled(Exception):
    """What is not known of a state without deciding something."""


STEPS: Final = (*_STEPS, *WALKERS, SymRange)
_PLAIN: Final = (
    *(int, float, bool, str, bytes, type(None), type(...), type(NotImplemented)),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
_SAME: Final = (
    *(torch.Tensor, torch.nn.Module, torch.Generator, enum.Enum),
    *(types.BuiltinFunctionType, types.ModuleType),
)
_SYMBOLIC: Final = (SymTensor, *SYMBOLIC)
_NEXT: Final = Walker.__next__.__code__
_TRUTHS: Final = frozenset(kind.__bool__.__code__ for kind in _SYMBOLIC)  # of `__bool__`
_GONE_THROUGH: Final[Any] = ([], (), range(0), range(1 << 70), "", {}, {}.values(), {}.items())
_BACKWARDS: Final[Any] = ([], range(0), {}, {}.values(), {}.items())
_ITERATORS: Final = frozenset(
    [
        *[type(iter(x)) for x in _GONE_THROUGH],
        *[type(reversed(x)) for x in _BACKWARDS],
        *(reversed, enumerate, zip, map),
    ]
)
_MADE_BY_PYTHON: Final = 1 << 9  # the flag of classes that a class statement makes
_WITHOUT_ELEMENTS: Final = (*_PLAIN, *_SYMBOLIC, torch.Tensor, torch.nn.Parameter)


def state_of(
    tracer: Tracer, live: Callable[[], list[Value]], asked: int, *, everywhere: bool
) -> ProgramState | None:
    """The state now, or None if part of it is out of sight. `live` gives the tensors that are held;
    before the last decision there were `asked` calls. Without `everywhere`, only branches in loops
    have a state.

    One tensor may be held by Python's stack alone: the one whose truth is being asked. It comes
    last among the values of the state.
    """
    recorder = tracer.recorder
    reader = _Reader(recorder.is_born)
    try:
        stack, called = _frames()
        branch = _branch(stack)
        if branch is None or not (everywhere or branch.repeats):
            return None
        places = _places(stack, branch)
        held_by = [values_under(stack[0], branch.depth)]
        held_by += [values_in_call(f, inner) for f, inner in zip(stack[1:], called, strict=True)]
        parts: list[Any] = [
            (at, *reader.frame(f, values))
            for at, f, values in zip(places, stack, held_by, strict=True)
        ]
        parts += [reader.read(x) for x in recorder.state()]
        there = live()
        known = {id(v) for v in reader.values}
        dead = _reachable([*reader.dead, *recorder.unreferenced()]) - known
        held = [v for v in there if v.kind == RESULT and id(v) not in known and id(v) not in dead]
        if len(held) > 1:
            dead |= _reachable(recorder.garbage()) - known
            held = [v for v in held if id(v) not in dead]
        if not _is_of_result(branch, stack[0], held, there, tracer.graph.nodes[asked:]):
            return None
        if len(held) == 1:
            reader.values += held
            held = []
        metas = [_meta_key(v.meta) for v in reader.values]
        tensors = {id(v): id(t) for v, t in tracer.graph.constants}
        roots = [reader.rooted(v, tensors) for v in reader.values]
    except (Unsettled, Unreadable):
        return None
    is_whole = not held and not recorder.texts.are_used
    key = (*parts, *metas, *map(str, held))
    at = _at(stack, places)
    tensors_outside = [m for i, m in enumerate(metas) if i not in reader.listed]
    form = (parts[: len(at)], parts[len(at) :], tensors_outside)
    return ProgramState(
        reader.values,
        key,
        roots,
        frozenset(dead),
        is_whole,
        reader.kept,
        at,
        form,
        reader.references,
    )


class Position(NamedTuple):
    """The frames of the program, innermost first, with the values on their stacks, and where they
    are, as states say it.
    """

    frames: list[FrameType]
    stacks: list[list[Any]]
    at: Any


def position() -> Position:
    """Where the program is; nowhere if the innermost frame is not at a branch, or part of the state
    is out of sight.
    """
    try:
        stack, called = _frames()
        branch = _branch(stack)
        if branch is None:
            return Position(stack, [], None)
        held_by = [values_under(stack[0], branch.depth)]
        held_by += [values_in_call(f, inner) for f, inner in zip(stack[1:], called, strict=True)]
    except (Unsettled, Unreadable):
        return Position([], [], None)
    return Position(stack, held_by, _at(stack, _places(stack, branch)))


def _places(stack: list[FrameType], branch: Branch) -> list[Any]:
    return [branch.place, *[f.f_lasti for f in stack[1:]]]


def _at(stack: list[FrameType], places: list[Any]) -> Any:
    return tuple([(f.f_code, at) for f, at in zip(stack, places, strict=True)])


def _reachable(objects: list[Any]) -> set[int]:
    """The tensors that objects hold, by id; none where part of one is out of sight."""
    reader = _Reader(lambda _: True)
    found: set[int] = set()
    for x in objects:
        try:
            reader.read(x)
        except Unsettled:
            continue
        finally:
            found.update([id(v) for v in reader.values])
    return found


def _branch(stack: list[FrameType]) -> Branch | None:
    """The branch that the innermost frame is at; None if there is none."""
    found = branches_of(stack[0].f_code).get(stack[0].f_lasti) if stack else None
    if found is not None and found.walks and _entry(stack[0]).f_code is not _NEXT:
        return None
    return found


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


def _frames() -> tuple[list[FrameType], list[FrameType]]:
    """The frames of the program that is traced, innermost first, and what each but the first waits
    for: the frame before it, or the call of a module that this frame is in.

    Raises if another frame of this package is between two of them: a builtin that calls back has
    state. The call of a module has none that decides what follows.
    """
    frames: list[FrameType] = []
    called: list[FrameType] = []
    last: FrameType | None = None  # the last frame that was found
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not trace_call.__code__:
        is_program = not is_own(frame.f_code.co_filename)
        if last is not None and last.f_back is frame and frame.f_code is call_module.__code__:
            values_in_call(frame, last)
            last = frame
        elif is_program:
            if last is not None and last.f_back is not frame:
                raise Unsettled
            if last is not None:
                called.append(last)
            frames.append(frame)
            last = frame
        frame = frame.f_back
    return frames, called


class _Reader:
    """Reads values into keys; a container or tensor that is met again is known by its number."""

    def __init__(self, is_born: Callable[[Any], bool]) -> None:
        self.values: list[Value] = []
        self.dead: list[Any] = []  # values of variables that are not read again
        self.kept: list[Any] = []  # what is known by its id in the key
        self._made: list[Any] = []  # what was made to be read: no other object may get its id
        self.listed: set[int] = set()  # the places of values that were first met in lists
        self.references: dict[int, int] = {}  # to what can be changed, by id
        self._depth = 0  # of lists
        self._is_born = is_born
        self._numbers: dict[int, int] = {}
        self._roots: dict[int, int] = {}

    def frame(self, frame: FrameType, stack: list[Any]) -> Any:
        """The key of a frame with the values that are on its stack."""
        code, at = frame.f_code, frame.f_lasti
        if hides_state(code):
            raise Unsettled
        live = live_after(code, at)
        variables = frame.f_locals
        self.dead += [x for name, x in variables.items() if name not in live]
        known = tuple([(n, self.read(variables[n])) for n in variables if n in live])
        return (code, known, tuple(map(self.read, stack)))

    def rooted(self, value: Value, tensors: dict[int, int]) -> Any:
        root = value.root
        if root.node is None:
            return ("constant", tensors[id(root)]) if id(root) in tensors else str(root)
        return self._roots.setdefault(id(root), len(self._roots))

    def _again(self, x: Any) -> int | None:
        """The number of an object that was met before; a new one gets the next."""
        known = self._numbers.get(id(x))
        if known is None:
            self._numbers[id(x)] = len(self._numbers)
        return known

    def _tensor(self, value: Value) -> Any:
        number = self._again(value)
        if number is None:
            number = self._numbers[id(value)]
            if self._depth:
                self.listed.add(len(self.values))
            self.values.append(value)
        return ("tensor", number)

    def _list(self, x: list[Any]) -> Any:
        self._depth += 1
        parts = tuple([self.read(part) for part in x])
        self._depth -= 1
        return (list, parts)

    def read(self, x: Any) -> Any:
        kind = type(x)
        value = _value_of(x)
        if value is not None:
            return self._tensor(value)
        if kind in SYMBOLIC:
            return (kind, _spelled(operand_of(x)), scalar_of(x))
        if kind in _PLAIN:
            return (kind, x.hex() if kind is float else x)
        if kind is range:
            return (kind, x.start, x.stop, x.step)
        if kind in (tuple, SymSize, torch.Size) or _is_record(x):
            return (kind, tuple([self.read(part) for part in x]))
        if isinstance(x, _SAME):
            return (kind, self._id(x))
        if kind is frozenset:
            return (kind, _elements(x))
        if x is Empty or is_hook(kind):
            return (kind, "own")
        if kind is types.MethodType and is_hook(type(x.__self__)):
            return (kind, x.__name__)
        if kind is types.MethodType:
            return (kind, self.read(x.__func__), self.read(x.__self__))
        return self._mutable(x)

    def _mutable(self, x: Any) -> Any:
        kind = type(x)
        self.references[id(x)] = self.references.get(id(x), 0) + 1
        number = self._again(x)
        if number is not None:
            return ("again", number)
        if kind is list:
            return self._list(x)
        if kind is deque:
            return (kind, x.maxlen, tuple([self.read(part) for part in x]))
        if kind is set:
            return (kind, _elements(x))
        if isinstance(x, dict):
            return (kind, tuple([(self.read(k), self.read(v)) for k, v in x.items()]))
        if kind in _ITERATORS or kind in STEPS:
            state = x.state() if kind in STEPS else parts_of(x)[1:]
            self._made.append(state)
            return (kind, self.read(state))
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
                self._id(x),
                tuple([(k, self.read(v)) for k, v in data.items() if k[:2] != "__"]),
            )
        own = getattr(x, "__dict__", None)
        if own is None or hasattr(x, "__next__") or _hides(kind):
            raise Unsettled
        return (kind, "born" if self._is_born(x) else self._id(x), self.read(own))

    def _id(self, x: Any) -> int:
        self.kept.append(x)
        return id(x)


def _is_record(x: Any) -> bool:
    """Whether an object is a tuple with names and nothing else."""
    return (
        isinstance(x, tuple)
        and (hasattr(x, "_fields") or hasattr(type(x), "n_fields"))
        and (not hasattr(x, "__dict__"))
    )


def _elements(x: Any) -> Any:
    """The key of a set of plain values, in the order in which it gives them."""
    if any(type(part) not in _PLAIN for part in x):
        raise Unsettled
    return tuple([(type(part), part) for part in x])


def _hides(kind: type) -> bool:
    """Whether objects of a class have state besides their dict: in C, or in slots."""
    return any(
        not c.__flags__ & _MADE_BY_PYTHON or c.__dict__.get("__slots__")
        for c in kind.__mro__
        if c is not object
    )


def _value_of(x: Any) -> Value | None:
    """The value of a traced tensor, or of a real one that was born inside the trace."""
    if type(x) is SymTensor or type(x) is SymList:
        found: Value = x._value
        return found
    value = current().value_of(x) if isinstance(x, torch.Tensor) else None
    return None if value is None or value.node is None else value


def _meta_key(meta: Meta) -> Any:
    if type(meta) is ListMeta:
        return (*meta.kind, tuple(map(_size, meta.shape)), meta.dense)
    layout = meta.layout.found()
    offset = layout.offset() if callable(layout.offset) else layout.offset
    strides = None if layout.strides is None else tuple(map(_size, layout.strides))
    shape = tuple(map(_size, meta.shape))
    lies = (layout.order, strides, _size(offset), layout.uncertain)
    return (shape, lies, meta.dtype, str(meta.device), meta.requires_grad)


def _size(n: Any) -> Any:
    return _spelled(n.expr) if type(n) is SymInt else n


def _spelled(operand: Any) -> Spelled:
    text = whole_text(operand)
    if text is None:
        raise Unsettled
    return Spelled(text)
