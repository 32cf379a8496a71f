"""Functions in C and of libraries, as a trace calls them.

A function that has a symbolic meaning, reads the user's objects or calls the user's functions back
has a substitute, found by identity: whatever name the program knows it by. What gives another value
on each call, and what has effects that cannot be repeated, is refused.
"""

from __future__ import annotations

import builtins
import contextvars
import copy
import decimal
import functools
import inspect
import io
import operator
import os
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package, is_framework, is_own, is_standard, is_torch
from anyshape.rules.dispatch.python_body import body_of, warns
from anyshape.tensor.sym_tensor import SymTensor
from anyshape.torch_compat.dynamo import behind_lazy_disable, original_of
from anyshape.torch_compat.torch_function import is_core_function
from anyshape.trace.record.attribute.special_method import special_method
from anyshape.trace.record.builtin.evaluation import evaluate
from anyshape.trace.record.builtin.iteration import Iterations
from anyshape.trace.record.builtin.library import (
    ADVANCING,
    ARRAY_CHANGES,
    EFFECTFUL,
    HARMLESS,
    KEEPING,
    VARYING,
    WATCHING,
    is_pure,
)
from anyshape.trace.record.builtin.meaning import Meanings
from anyshape.trace.record.builtin.module_call import module_calls
from anyshape.trace.record.builtin.number_call import number_calls
from anyshape.trace.record.builtin.number_context import for_decimal
from anyshape.trace.record.builtin.pybind import is_binding, is_of_cpp
from anyshape.trace.record.builtin.setting import is_setting, setting_calls
from anyshape.trace.record.builtin.stateful_function import has_state
from anyshape.trace.record.builtin.substitute import Substitutes
from anyshape.trace.record.builtin.torch_call import TORCH_SUBSTITUTES, generator_method, of_torch
from anyshape.trace.record.container.kept_item import changed
from anyshape.trace.record.effect import outlet, warning_block
from anyshape.trace.record.effect.draw import Draws
from anyshape.trace.record.foreign.alone import need_copied_by_python
from anyshape.trace.record.foreign.held_call import HELD, leads_to_user, survey_callee
from anyshape.trace.record.foreign.lent import FUNCTIONS
from anyshape.trace.record.foreign.plain_call import PlainCalls, called
from anyshape.trace.record.foreign.repeated_call import call_once
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.inert import OPERATORS
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, SYMBOLIC
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import is_array
from anyshape.trace.sequence.open_call import open_range
from anyshape.trace.twin.twin import local_variables

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_STATE: Final = ("get_", "is_", "are_", "has_")
_TOLD: Final = (bool, int, float, str, type(None), torch.dtype, torch.device)
_BLANK: Final = (object, dict, list, set, OrderedDict)  # whose `__new__` ignores its arguments
_IMMUTABLE: Final = (str, bytes, int, float, complex, frozenset)
_ASKED: Final[Any] = (
    os.getcwd, os.getenv, torch.get_num_threads, torch.get_num_interop_threads,
    torch.cuda.is_available, sys.getrecursionlimit, os.getpid,
)  # fmt: skip
_OF_TENSORS: Final = torch.Tensor.__mro__[:-1]
_FUNCTIONAL: Final = "torch.nn.functional"
_IN_MEMORY: Final = (io.BytesIO, io.StringIO)


def _is_of_user(cell: types.CellType) -> bool:
    """Whether a cell holds a function of the user's, which would run unrecorded."""
    try:
        held = cell.cell_contents
    except ValueError:
        return False
    if type(held) is not types.FunctionType or is_framework(held.__code__.co_filename):
        return False
    return is_twinned(held.__code__)


class Builtins:
    """Substitutes for builtins and functions of libraries."""

    def __init__(self, calls: Calls, recorder: Recorder) -> None:
        self._calls = calls
        self._recorder = recorder
        self._attributes = calls.attributes
        self._containers = calls.containers
        self._operators = calls.operators
        self.draws = Draws(recorder, calls)
        self._iterations = Iterations(calls, recorder)
        self.meanings = Meanings(calls, recorder, self._iterations)
        owners = (calls.attributes, calls.containers, calls.operators)
        parts = (self, recorder, *owners, self._iterations, self.meanings)
        self._plain = PlainCalls(calls, recorder, self._iterations).call
        self.table = Substitutes(parts, self._substitutes)

    def _substitutes(self) -> Any:
        yield builtins.len, self._containers.length
        yield builtins.getattr, self._attributes.optional
        yield builtins.hasattr, self._attributes.has
        yield builtins.setattr, self._attributes.set_attribute
        yield builtins.delattr, self._attributes.del_attribute
        yield builtins.vars, self._vars
        yield builtins.str, functools.partial(self._shown, "__str__")
        yield builtins.repr, functools.partial(self._shown, "__repr__")
        yield builtins.format, self._format
        yield torch.Tensor.__format__, self._format
        yield builtins.print, functools.partial(outlet.printed, self._recorder)
        yield builtins.dir, self._dir
        yield builtins.callable, callable
        yield threading.Event.is_set, self._is_set
        yield copy.copy, self._copy
        yield copy.deepcopy, self._deep_copy
        yield object.__setattr__, self._attributes.assign
        yield object.__getattribute__, self._attributes.plain
        for watched in WATCHING:
            yield watched, functools.partial(self._frame, watched.__name__)
        for f in (decimal.getcontext, decimal.setcontext, decimal.localcontext,
                  threading.Event.set, threading.Event.clear, threading.Event.wait):  # fmt: skip
            yield f, functools.partial(self._effect, f.__name__)
        for name in ("open", "input", "exec", "compile", "breakpoint", "globals"):
            yield getattr(builtins, name), functools.partial(self._effect, name)
        yield builtins.eval, self._eval
        yield from self._iterations.substitutes()
        yield from self.meanings.substitutes()
        for f in _ASKED:
            yield f, functools.partial(self._asked, f)
        yield from number_calls(self._recorder, self._iterations)
        for name in OPERATORS:
            yield getattr(operator, name), getattr(self._operators, name)
        yield operator.getitem, self._containers.item
        yield operator.setitem, self._containers.set_item
        yield operator.contains, self._contains
        yield from outlet.substitutes(self._recorder)
        yield from warning_block.substitutes(self._recorder)
        for f, substitute in (*TORCH_SUBSTITUTES(), *setting_calls(), *module_calls()):
            yield f, functools.partial(of_torch, substitute, self._recorder)

    def _is_set(self, m: Any) -> Any:
        return self._attributes.attribute(m.__self__, "_flag")

    def _contains(self, o: Any, key: Any) -> Any:
        return self._containers.contains(key, o)

    # ------------------------------------------------------------------ kinds of functions

    def ready(self, f: Any) -> Any:  # noqa: C901, PLR0911  one case per kind of owner
        """The callable for a builtin function or a method of an object in C."""
        owner = f.__self__
        if type(f) is types.MethodWrapperType:
            return special_method(self._calls, f, owner) or functools.partial(self._plain, f)
        if owner is None or type(owner) is types.ModuleType or is_binding(owner):
            is_module = type(owner) is types.ModuleType
            name = owner.__name__ if is_module else str(getattr(f, "__module__", ""))
            if in_package(name, "torch"):
                return self._direct(f)
            if name in VARYING:
                return self.draws.function(f, f"{name}.{f.__name__}")
            if name in EFFECTFUL and f.__name__ not in HARMLESS:
                return functools.partial(self._effect, f"{name}.{f.__name__}")
            return functools.partial(self._plain, f)
        if isinstance(owner, type):
            if in_package(owner.__module__, "torch"):
                return self._direct(f)
            if owner.__module__ == "datetime" and f.__name__ in ("now", "utcnow", "today"):
                return self.draws.function(f, f"datetime.{f.__name__}")
            return functools.partial(self._new if f.__name__ == "__new__" else self._plain, f)
        if type(owner) is str:
            return functools.partial(self.method, f)
        if isinstance(owner, _IMMUTABLE):  # of a subclass, such as an enum of strings
            return functools.partial(self._plain, f)
        if isinstance(owner, CONTAINERS):
            return self._containers.method(owner, f.__name__, is_native=True)
        if type(owner) is contextvars.ContextVar:
            return functools.partial(self._context_variable, f)
        if isinstance(owner, torch.Generator):
            return functools.partial(generator_method, self._recorder, owner, f.__name__)
        if isinstance(owner, torch.Tensor) or in_package(type(owner).__module__, "torch"):
            return self._direct(f)
        return self._of_object(f, owner)

    def _new(self, f: Any, cls: Any, /, *args: Any, **named: Any) -> Any:
        """`object.__new__` or that of another class in C: the object is born in the trace."""
        reads = f.__self__ not in _BLANK
        if isinstance(cls, type) and issubclass(cls, type):
            self._calls.classes.made(cls, *args)
        made = self._plain(f, cls, *args, **named) if reads else f(cls, *args, **named)
        is_new = cls.__flags__ & HEAP or cls in _BLANK
        return self._recorder.born(made) if type(made) is cls and is_new else made

    def _of_object(self, f: Any, owner: Any) -> Any:
        """A method, written in C, of some object."""
        recorder = self._recorder
        module = type(owner).__module__
        if module in VARYING or in_package(module, "numpy.random"):
            return self.draws.method(owner, f)
        if is_array(owner):
            if f.__name__ in ARRAY_CHANGES and not recorder.may_write(owner):
                raise recorder.refusal(f"an array is changed by {f.__name__}")
            recorder.array(owner)
        if type(owner) is types.MappingProxyType:
            return getattr(self._containers.views.as_now(owner), f.__name__)
        if (
            type(owner) in ATOMS
            or recorder.is_born(owner)
            or module in ("numpy", "types", "builtins", "re")
        ):
            is_outside = recorder.is_outside(owner) or isinstance(owner, types.CoroutineType)
            if f.__name__ in ADVANCING and is_outside and not recorder.is_born(owner):
                raise recorder.refusal("an iterator from outside is moved on")
            return functools.partial(self._plain, f)
        if recorder.has_outlets and f.__name__ == "write" and owner in (sys.stdout, sys.stderr):
            return functools.partial(outlet.wrote, recorder, owner)
        if recorder.is_outside(owner) and not recorder.may_write(owner):
            raise recorder.refusal(f"{type(owner).__name__}.{f.__name__} is called")
        return functools.partial(self._plain, f)

    def descriptor(self, f: Any) -> Any:
        """The callable for a method that was taken from a class, such as `list.append`."""
        owner = getattr(f, "__objclass__", None)
        if owner is not None and owner in (list, dict, set, deque, OrderedDict, tuple, frozenset):
            return functools.partial(self._unbound, f.__name__)
        if owner is None or issubclass(owner, _OF_TENSORS):
            return self._direct(f)
        return functools.partial(self._bound_form, f)

    def _bound_form(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call a method that was taken from a class in C as the method of its first argument."""
        o = args[0] if args else None
        if type(o) in SYMBOLIC and hasattr(o, f.__name__):
            return getattr(o, f.__name__)(*args[1:], **named)
        if type(f) is types.ClassMethodDescriptorType or not isinstance(o, f.__objclass__):
            return self._plain(f, *args, **named)
        return self.ready(f.__get__(o))(*args[1:], **named)

    def _unbound(self, name: str, o: Any, /, *args: Any, **named: Any) -> Any:
        return self._containers.method(o, name, is_native=True)(*args, **named)

    def _direct(self, f: Any) -> Any:
        """A function of torch: the tracer looks at its arguments."""
        name = getattr(f, "__name__", "")
        is_state = name.startswith(_STATE) or name.endswith(("_enabled", "_available"))
        if is_state or is_binding(getattr(f, "__self__", None)):
            return functools.partial(self._torch_state, f)
        if self._recorder.shadows:
            return functools.partial(self._calls._shadowed, f)
        return f

    def _torch_state(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """A function of torch that may tell of the state of the process.

        A method of an object of C++ from outside may change it, unseen. A function of C++ that is
        given a traced tensor would tell of the stand-in.
        """
        owner = args[0] if args else None
        traced = any(type(a) is SymTensor for a in args)
        if traced and is_core_function(f) and is_binding(getattr(f, "__self__", None)):
            raise self._recorder.unsupported(f"{f.__name__} looks at a tensor below Python")
        if is_of_cpp(owner) and self._recorder.is_outside(owner):
            raise self._recorder.refusal(f"{type(owner).__name__}.{f.__name__} is called")
        result = f(*args, **named)
        plain = all(type(a) in ATOMS - SYMBOLIC for a in (*args, *named.values()))
        of_tensor = isinstance(getattr(f, "__self__", 0), torch.Tensor)
        if plain and type(result) in _TOLD and not of_tensor:
            asked = functools.partial(f, *args, **named)
            return self._recorder.note(reads.CALL, asked, (), result)
        return result

    def python(self, f: Any) -> Any:
        """The callable for a Python function that has no twin."""
        f = behind_lazy_disable(f) or f
        module = f.__module__ or ""
        if any(map(_is_of_user, f.__closure__ or ())):
            if is_torch(f.__code__.co_filename):
                original = original_of(f)
                if original is None:
                    return self._recorder.twin(f, wraps=True)
                return self._calls.ready(self._recorder.outside(original))
            raise self._recorder.refusal(f"{f.__qualname__} calls a function that it wraps")
        file = f.__code__.co_filename
        if is_own(file):
            return self._direct(f)
        if is_torch(file):
            if module == _FUNCTIONAL:
                return self._direct(body_of(f) if warns(f) else f)
            if is_setting(f):
                return self._recorder.twin(f)
            return functools.partial(self._calling, f)
        if module in VARYING or in_package(module, "numpy.random"):
            return self.draws.python(f, f"{module}.{f.__name__}")
        if f.__code__.co_flags & inspect.CO_COROUTINE:
            return functools.partial(self._effect, f.__name__)
        if is_standard(file) and not is_pure(module):
            return functools.partial(self._effect, f"{module}.{f.__name__}")
        return functools.partial(self._plain, f)

    def _calling(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function of torch in Python; functions that it is given run as twins. So does the
        function itself, if it has an object that it may read or change, such as an optimizer, or
        call, such as a module.
        """
        if has_state(self._recorder, f, (*args, *named.values())):
            call = self._recorder.twin(f, wraps=True)
        else:
            ready = self._ready_if_recorded
            call, args = self._direct(f), tuple(map(ready, args))
            named = {k: ready(a) for k, a in named.items()}
        result = call_once(self._recorder, f, lambda: call(*args, **named))
        return result if args or named else self._told(f, result)

    def _told(self, f: Any, x: Any) -> Any:
        """What a function without arguments gives: plain data are of the process or machine."""
        is_told = x is not None and type(x) in _TOLD
        return self._recorder.note(reads.CALL, f, (), x) if is_told else x

    def _ready_if_recorded(self, a: Any) -> Any:
        """A function that code of torch is given: one of a library is the one that torch knows."""
        if type(a) not in FUNCTIONS:
            return a
        function = a.__func__ if type(a) is types.MethodType else a
        is_own = self._calls.is_recorded(function) or id(function) in self.table
        return self._calls.ready(a) if is_own else a

    def method(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """A method of a text: the texts of its arguments count."""
        plain = self._operators.plain
        if f.__name__ == "join" and args:
            return f(self._containers.gathered(args[0]))
        text = plain(f.__self__)
        f = f if text is f.__self__ else getattr(text, f.__name__)
        if f.__name__ != "format":
            for a in args:
                self._recorder.need_passive(a)
            args = tuple([self._recorder.deep(plain(a)) for a in args])
        else:
            shown = self._operators.shown_in(text)
            args = tuple(map(shown, args))
            named = {k: shown(a) for k, a in named.items()}
        return f(*args, **named)

    def seen(self, x: Any) -> Any:
        """An argument as the trace sees it."""
        if id(x) in self._recorder.changed:
            raise self._recorder.refusal("a changed object is used by code that is not recorded")
        return changed(self._recorder, x)

    def foreign(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call an object of a class in C, such as a function of NumPy."""
        survey_callee(self._recorder, f)
        return self._plain(f, *args, **named)

    def make(self, cls: Any, /, *args: Any, **named: Any) -> Any:  # noqa: C901, PLR0912  one case per kind
        """A new object of a class in C, or of one without methods of the user's to make it."""
        if issubclass(cls, BaseException) and self._recorder.keeps_errors:
            return self._recorder.born(cls(*args, **named))
        if issubclass(cls, type):
            self._calls.classes.made(cls, *args)
        if issubclass(cls, torch.Tensor) or in_package(cls.__module__, "torch"):
            recorder = self._recorder
            given = [recorder.deep(a) if isinstance(a, CONTAINERS) else a for a in args]
            made = cls(*given, **named)
            is_tensor = isinstance(made, torch.Tensor)
            return recorder.tracer.births.note(made) if is_tensor else recorder.born(made)
        module = cls.__module__
        if module in ("random", "_random") or in_package(module, "numpy.random"):
            return self.draws.made(cls, args, named)
        if module.partition(".")[0] not in KEEPING and any(
            map(leads_to_user, (*args, *named.values()))
        ):
            raise self._recorder.refusal(f"a function is given to a {cls.__name__}")
        for a in (*args, *named.values()) if module.partition(".")[0] not in KEEPING else ():
            if type(a) in HELD:
                self._recorder.deep(a)
        if issubclass(cls, io.IOBase) and cls not in _IN_MEMORY:
            raise self._recorder.refusal(f"a {cls.__name__} is made")
        if issubclass(cls, decimal.Decimal):
            args = for_decimal(args)
        if in_package(module, "numpy"):
            for a in args:
                self._recorder.need_passive(a)
        if cls is memoryview and args and not self._recorder.may_write(args[0]):
            raise self._recorder.refusal("memory of an object from outside is opened")
        if issubclass(cls, weakref.ref) and args:
            self._recorder.need_value(args[0])
            has_callback = len(args) > 1 and args[1] is not None
            if self._recorder.is_born(args[0]) or (has_callback and type(args[0]) is SymTensor):
                raise self._recorder.lifetime("is referred to weakly")
        given = [
            a if type(a) in ATOMS or isinstance(a, torch.Tensor) else self.seen(a)
            for a in map(self._operators.plain, args)
        ]
        if cls is range or cls is slice:
            numbers = [(a, self._operators.special(a, "__index__")) for a in given]
            given = [a if n is None else n() for a, n in numbers]
            if cls is range and (found := open_range(self._recorder.tracer, given)) is not None:
                return found
        if issubclass(cls, CONTAINERS) and not hasattr(cls, "_fields"):
            kept = args[:1] if issubclass(cls, defaultdict) else ()  # the factory
            given = [*kept, *[self._containers.iterated(a) for a in given[len(kept) :]]]
        return self._recorder.born(called(cls, given, named))

    # ------------------------------------------------------------------ objects

    def _vars(self, *args: Any) -> Any:
        if not args:
            return self._recorder.born(local_variables())
        if len(args) != 1 or type(args[0]) in ATOMS or not hasattr(args[0], "__dict__"):
            return vars(*[0 for _ in args])  # raises, as of a number
        return self._attributes.attribute(args[0], "__dict__")

    def _dir(self, *args: Any) -> Any:
        if not args:
            raise self._recorder.unsupported("dir() without an object in a traced function")
        for x in args:
            method = self._operators.special(x, "__dir__")
            if method is not None and len(args) == 1:
                return self._recorder.born(sorted(self._iterations.iterated(method())))
            own = getattr(x, "__dict__", None)
            if type(own) is dict and not self._recorder.is_born(x):
                self._recorder.content(own)
        return self._recorder.born(dir(*args))

    def _eval(self, *args: Any) -> Any:
        return evaluate(self._calls, self._recorder, *args)

    def _copy(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor) or type(x) in ATOMS:
            return self._with_attributes(x, copy.copy(x), lambda value: value)
        method = self._operators.special(x, "__copy__")
        if method is not None:
            return method()
        need_copied_by_python(self._recorder, x, deeply=False)
        return self._recorder.born(copy.copy(self._recorder.deep(x)))

    def _deep_copy(self, x: Any, memo: Any = None) -> Any:
        if isinstance(x, torch.Tensor) or type(x) in ATOMS:
            return self._with_attributes(x, copy.deepcopy(x), self._deep_copy)
        need_copied_by_python(self._recorder, x)
        made = copy.deepcopy(self._recorder.deep(x), memo)
        self._recorder.born_below(made)
        return made

    def _with_attributes(self, x: Any, made: Any, copied: Any) -> Any:
        """A copy of a tensor with what the program has put on it."""
        if type(x) is SymTensor and made is not x:
            for name, value in list(object.__getattribute__(x, "__dict__").items()):
                self._attributes.set_attribute(made, name, copied(value))
        return made

    def _shown(self, name: str, /, *args: Any, **named: Any) -> Any:
        if len(args) == 1 and not named:
            return self._operators.shown(args[0], name)
        return str(*args, **named)

    def _format(self, x: Any, spec: str = "") -> str:
        return format(self._operators.text(x, -1), self._operators.plain(spec))

    # ------------------------------------------------------------------ reads of the process

    def _asked(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """A function of the state of the process: it is asked again before every run."""
        if named:
            f = functools.partial(f, **named)
        return self._recorder.note(reads.CALL, f, args, f(*args))

    def _context_variable(self, f: Any, /, *args: Any, **named: Any) -> Any:
        if f.__name__ != "get":
            raise self._recorder.refusal("a context variable is set")
        return self._recorder.note(reads.CALL, f, args, f(*args))

    def _effect(self, name: str, /, *args: Any, **named: Any) -> Any:
        raise self._recorder.refusal(f"{name}() is called")

    def _frame(self, name: str, /, *_: Any, **__: Any) -> Any:
        """Refuse to look at frames, or to watch them: those must be of whole functions."""
        error = self._recorder.refusal(f"{name}() is called")
        error.can_break = is_framework(sys._getframe(1).f_code.co_filename)
        raise error
