"""A run of code that has no twin, followed by a tracer of this thread.

Each function of the user's that the code calls is surveyed like the code itself, or refused if it
is not known where the caller has it from. Each store, and each method that changes a container, is
looked at before it happens: what is changed must be a tensor or an object that the run has made.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import PROGRAM_FILE, is_framework, is_own
from anyshape.trace.record.atom import ATOMS, HEAP, Function
from anyshape.trace.record.method_name import CHANGING
from anyshape.trace.record.territory import is_twinned
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.reader import Reader

    Codes = set[types.CodeType]

_LOADS: Final = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLASSDEREF")
_STORES: Final = ("STORE_ATTR", "DELETE_ATTR")
_METHODS: Final = ("LOAD_METHOD", "LOAD_ATTR")
_UNKNOWN: Final = object()


class SurveyedRun:
    """Open it around the run of `f`, whose code and what it defines are `known`."""

    def __init__(
        self, recorder: Reader, f: Any, known: Codes, survey: Callable[..., Codes], *, writes: bool
    ) -> None:
        self._recorder = recorder
        self._f = f
        self._known = known
        self._survey = survey
        self._may_write = writes
        self._outer: Any = None

    def __enter__(self) -> None:
        self._outer = sys.gettrace()
        sys.settrace(self._enter)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._outer)

    def _enter(self, frame: types.FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if event != "call" or not _is_users(code) or self._is_the_tracers(frame):
            return None
        if code not in self._known:
            self._known.add(code)
            f = _method_of(self._recorder, frame)
            if f is None:
                what = f"{self._f.__qualname__} has no source, and calls {code.co_name}"
                raise self._recorder.refusal(what)
            arguments = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]]
            self._known |= self._survey(self._recorder, f, tuple(arguments), runs=True)
        if self._may_write or not stores_of(code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _is_the_tracers(self, frame: types.FrameType | None) -> bool:
        """Whether the tracer has called, and not code that is followed."""
        while frame is not None and frame.f_code not in self._known:
            if is_own(frame.f_code.co_filename):
                return True
            frame = frame.f_back
        return False

    def _step(self, frame: types.FrameType, event: str, _: object) -> Any:
        store = stores_of(frame.f_code).get(frame.f_lasti) if event == "opcode" else None
        if store is not None and self._changes_outside(store.way(frame)):
            what = f"{frame.f_code.co_name} has no source, and may change something"
            raise self._recorder.refusal(what)
        return self._step

    def _changes_outside(self, way: list[Any]) -> bool:
        """Whether what is reached on this way may be from outside. Tensors are the tracer's."""
        if way[-1] is _UNKNOWN:
            return True
        if type(way[-1]) in ATOMS or isinstance(way[-1], torch.Tensor):
            return False
        return any(self._recorder.is_outside(x) or may_be_users(x) for x in way)


def may_be_users(x: Any) -> bool:
    """Whether an object is a function, a class or a module, and not one of a framework."""
    if isinstance(x, Function):
        return not is_framework(x.__code__.co_filename)
    if isinstance(x, type):
        if not x.__flags__ & HEAP:
            return False
        of = getattr(x, "__module__", "")
        module = None if of == "builtins" else sys.modules.get(of)
        return module is None or may_be_users(module)
    if isinstance(x, types.ModuleType):
        is_builtin = x.__name__ in sys.builtin_module_names
        return not (is_builtin or is_framework(getattr(x, "__file__", None) or ""))
    return False


def _is_users(code: types.CodeType) -> bool:
    """Whether code is the user's, and no twin's."""
    is_generated = code.co_filename.startswith(PROGRAM_FILE)
    return is_twinned(code) and not (
        is_generated or is_framework(code.co_filename) or is_twin(code)
    )


def _method_of(recorder: Reader, frame: types.FrameType) -> Any:
    """The function that runs in a frame, if it is a method of its first argument's class, where it
    is looked up.
    """
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    for cls in (*type(first).__mro__, *(first.__mro__ if isinstance(first, type) else ())):
        for name, found in list(cls.__dict__.items()):
            for f in _functions(found):
                if f.__code__ is code:
                    return f if recorder.lookup(cls, name) is found else None
    return None


def _functions(x: Any) -> list[types.FunctionType]:
    """The functions of a method, a class method or a property."""
    ways = [x, *[getattr(x, name, None) for name in ("__func__", "fget", "fset", "func")]]
    return [f for f in ways if type(f) is Function]


class _Store(NamedTuple):
    """An instruction that changes what another one has loaded: a variable, or attributes of it."""

    variable: str | None
    attributes: tuple[str, ...] = ()

    def way(self, frame: types.FrameType) -> list[Any]:
        """The variable and the attributes on the way to the object that the instruction is about to
        change, which is the last; `_UNKNOWN` if only the instructions before it can tell.
        """
        if self.variable is None:
            return [_UNKNOWN]
        found = frame.f_locals.get(self.variable, frame.f_globals.get(self.variable, _UNKNOWN))
        way = [found]
        for name in self.attributes:
            found = inspect.getattr_static(found, name, _UNKNOWN)
            if isinstance(found, property | types.MemberDescriptorType):
                found = _UNKNOWN
            way.append(found)
        return way


@functools.lru_cache(maxsize=1024)
def stores_of(code: types.CodeType) -> dict[int, _Store]:
    """The instructions of a code that change objects, by their offsets."""
    instructions = [
        i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "EXTENDED_ARG")
    ]
    found = {}
    for at, i in enumerate(instructions):
        if i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            keys = 2 if i.opname == "STORE_SLICE" else 1
            found[i.offset] = _loaded(instructions, _before(instructions, at, keys))
        elif i.opname in _STORES or (i.opname in _METHODS and i.argval in CHANGING):
            found[i.offset] = _loaded(instructions, at)
    return found


def _before(instructions: list[dis.Instruction], at: int, values: int) -> int:
    """The place before the instructions that made this many values on top of the stack."""
    height = 0
    while height < values:
        at -= 1
        if at < 0 or "JUMP" in instructions[at].opname:
            return 0
        height += dis.stack_effect(instructions[at].opcode, instructions[at].arg, jump=False)
    return at if height == values else 0


def _loaded(instructions: list[dis.Instruction], at: int) -> _Store:
    """What is on top of the stack before an instruction."""
    names: list[str] = []
    while at > 0 and instructions[at - 1].opname == "LOAD_ATTR":
        at -= 1
        names.insert(0, instructions[at].argval)
    if at > 0 and instructions[at - 1].opname in _LOADS:
        return _Store(instructions[at - 1].argval, tuple(names))
    return _Store(None)
