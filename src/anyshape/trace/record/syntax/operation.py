"""Operators, tests and texts: Python calls the user's methods for them by itself."""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import sys
import types
from collections import OrderedDict, deque
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import in_package
from anyshape.errors import AnyshapeError, ShapeError
from anyshape.symbolic.functions import sym_not
from anyshape.symbolic.numpy_calls import lifted
from anyshape.symbolic.numpy_scalar import at_values, scalar_of, value_of
from anyshape.symbolic.operand import is_symbolic
from anyshape.symbolic.sym_bool import SymBool
from anyshape.symbolic.sym_float import SymFloat
from anyshape.symbolic.sym_int import SymInt
from anyshape.tensor.identity import type_of
from anyshape.torch_compat.torch_function import sees_ops
from anyshape.trace.graph.graph import SYMBOLIC
from anyshape.trace.options import DONE
from anyshape.trace.record.attribute.special_callable import special_callable
from anyshape.trace.record.builtin.checkpoint_policy import is_silent_checkpoint
from anyshape.trace.record.builtin.number_context import for_decimal
from anyshape.trace.record.builtin.setting import is_setting
from anyshape.trace.record.container.kept_item import whole
from anyshape.trace.record.eager_error import call_of, eager_class
from anyshape.trace.record.effect.text import Deferred
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, Function
from anyshape.trace.record.read.read import is_array
from anyshape.trace.record.syntax.block import Block, UnseenBlock
from anyshape.trace.record.syntax.word import Words, word, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_BINARY: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "or_", "and_", "xor",
    "lshift", "rshift",
)  # fmt: skip
_REFLECTED: Final = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_COMPARISONS: Final = tuple(getattr(operator, name) for name in _REFLECTED)
_UNARY: Final = ("neg", "pos", "invert")
_WIDTH: Final = re.compile(r"\{[^{}]*\{|%[^a-zA-Z%]*\*")  # of a format, given as a value


class _Tested(NamedTuple):
    """An operand whose truth is asked of the trace."""

    operations: Operations
    operand: Any

    def __bool__(self) -> bool:
        return bool(self.operations.truth(self.operand))


class Operations:
    """The hooks for operators."""

    calls: Calls
    add: Callable[[Any, Any], Any]
    eq: Callable[[Any, Any], Any]
    lt: Callable[[Any, Any], Any]
    gt: Callable[[Any, Any], Any]
    ge: Callable[[Any, Any], Any]
    pow: Callable[[Any, Any], Any]

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def special(self, o: Any, name: str) -> Any:
        """The user's method of that name in the class of an object; None if it has none."""
        kind = type(o)
        if kind in ATOMS or kind in _BUILTIN or issubclass(kind, torch.Tensor):
            return None
        if kind.__flags__ & HEAP and not isinstance(o, torch.nn.Module):
            self._recorder.kind(o)
            method = self._recorder.lookup(kind, name)
            return special_callable(self.calls, o, name, method)
        method = getattr(kind, name, None)
        if type(method) is not Function:
            return None
        self._recorder.lookup(kind, name)
        return functools.partial(self.calls.ready(method), o)

    def operand(self, o: Any) -> Any:
        """An operand of something that is not recorded by itself."""
        if type(o) in ATOMS:
            return o
        if isinstance(o, CONTAINERS):
            return self._recorder.content(o)
        if is_array(o):
            self._recorder.array(o)
        return self.calls.containers.views.as_now(o)

    def _slow(self, plain: Any, name: str, reflected: str, a: Any, b: Any) -> Any:
        first, second = self.special(a, name), self.special(b, reflected)
        effects = self._recorder.effects
        if plain is operator.ne and first is None and second is None:
            equal = self.special(a, "__eq__") or self.special(b, "__eq__")
            if equal is not None:
                return not self.truth(self._slow(operator.eq, "__eq__", "__eq__", a, b))
        if second is not None and type(b) is not type(a) and isinstance(b, type(a)):
            result = second(a)
            if result is not NotImplemented:
                return result
            second = None
        if first is not None:
            result = first(b)
            if result is not NotImplemented:
                return result
        elif second is None:
            return self._native(plain, a, b)
        if second is not None and (type(b) is not type(a) or plain in _COMPARISONS):
            result = second(a)
            if result is not NotImplemented:
                return result
        if self._recorder.effects != effects:
            raise self._recorder.refusal(f"{name} gives NotImplemented after an effect")
        return plain(a, b)  # raises, or compares identities

    def _native(self, plain: Any, a: Any, b: Any) -> Any:
        """An operator of two objects without methods of the user's for it."""
        if is_array(a) and type(a).__hash__ is None and isinstance(b, torch.Tensor):
            raise self._recorder.unsupported("an array of NumPy meets a tensor on its right")
        if self._by_identity(plain, a, b):
            return bool(self._recorder.is_same(a, b)) is (plain is operator.eq)
        if isinstance(a, SimpleNamespace) and isinstance(b, SimpleNamespace):
            own = self.calls.attributes.namespace
            return self._slow(plain, "__eq__", "__eq__", own(a), own(b))
        if isinstance(a, CONTAINERS) and isinstance(b, CONTAINERS):
            comparisons = self.calls.containers.comparisons
            is_tested = plain in _COMPARISONS or isinstance(a, set | frozenset)
            if is_tested and comparisons.asks(a, b):
                return comparisons.compare(plain, a, b)
            if plain in _COMPARISONS:
                return plain(whole(self._recorder, a), whole(self._recorder, b))
        if plain is operator.mul:
            a, b = self._times(b, a), self._times(a, b)
        if is_array(a) or is_array(b):
            return self._by_numpy(plain, a, b)
        if isinstance(a, Decimal) or isinstance(b, Decimal):
            a, b = for_decimal((a, b))
        result = plain(self.operand(a), self.operand(b))
        return self._recorder.born(result) if type(result) in _NEW else result

    def _by_numpy(self, plain: Any, a: Any, b: Any) -> Any:
        """An operator of a scalar or an array of NumPy, which does not warn."""
        a, b = lifted(self.operand(a), b), lifted(self.operand(b), a)
        tensor = isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor)
        if tensor or is_symbolic(a) or is_symbolic(b):
            return plain(a, b)
        return at_values(plain, a, b)

    def _times(self, repeated: Any, n: Any) -> Any:
        """The number of times that a sequence is repeated, where an object gives it."""
        if type(n) in ATOMS or not isinstance(repeated, list | tuple | str | bytes | deque):
            return n
        index = self.special(n, "__index__")
        return n if index is None else index()

    def _by_identity(self, plain: Any, a: Any, b: Any) -> bool:
        """Whether a comparison of an argument asks for its identity."""
        given = self._recorder.given
        if not given or plain not in (operator.eq, operator.ne):
            return False
        return any(id(x) in given and _compares_identity(type(x)) for x in (a, b))

    # ------------------------------------------------------------------ tests

    def truth(self, o: Any) -> Any:
        """The operand of a test: itself, or what its class says."""
        kind = type(o)
        if kind in ATOMS:
            return o
        method = self.special(o, "__bool__")
        if method is not None:
            return _truth_of(method())
        method = self.special(o, "__len__")
        if method is not None:
            return bool(self.truth(method()))
        if isinstance(o, CONTAINERS):
            return self.calls.containers.length(o) > 0
        return o

    def looked(self, o: Any) -> Any:
        """An operand of `and` or `or` for Python to test, which asks for its truth as often as in
        eager execution.
        """
        if type(o) in ATOMS or isinstance(o, torch.Tensor):
            return o
        has_truth = isinstance(o, CONTAINERS) or self.special(o, "__bool__") is not None
        return _Tested(self, o) if has_truth or self.special(o, "__len__") is not None else o

    def chosen(self, o: Any) -> Any:
        """The operand that `and` or `or` gives."""
        return o.operand if type(o) is _Tested else o

    def is_(self, a: Any, b: Any) -> bool | SymBool:
        """`a is b`."""
        return a is b if b is None else self._recorder.is_same(a, b)

    def is_not(self, a: Any, b: Any) -> bool | SymBool:
        """`a is not b`."""
        if b is None:
            return a is not b
        found = self._recorder.is_same(a, b)
        return not found if type(found) is bool else sym_not(found)

    # ------------------------------------------------------------------ texts

    def plain(self, x: Any) -> Any:
        """A value that is looked at: text gets the values of the symbolic numbers in it."""
        kind = type(x)
        if kind is not str and kind is not tuple:
            return x
        if not self._recorder.tracer.env.asker.shown:  # `texts.are_used`, asked very often
            return x
        return self._recorder.texts.settled(x) if kind is str else tuple(map(self.plain, x))

    def _number(self, o: Any) -> Any:
        """A value to be shown: that of a number, where the trace may ask for it."""
        if isinstance(o, torch.Tensor):
            self._recorder.tracer.met_methods.update(("__format__", "__repr__"))
        if scalar_of(o):
            return value_of(o)
        if self._recorder.defers_text:
            return self._recorder.texts.deferred(o)
        kind = type(o)
        if kind not in SYMBOLIC or not o.env.asker.is_concrete:
            return o
        return value_of(o)

    def text(self, o: Any, conversion: int) -> Any:
        """The value that a format string shows."""
        if type(o) in ATOMS or isinstance(o, torch.Tensor):
            return self._number(o)
        return Words(self, o)

    def plain_text(self, x: Any) -> str:
        """A part of the specification of a format, which must be known."""
        return str(self.plain(f"{x}"))

    def shown_in(self, text: str) -> Callable[[Any], Any]:
        """How a value is shown by a format; one with a width from a value needs the values."""
        if _WIDTH.search(text) is None:
            return lambda x: self.text(x, -1)
        return lambda x: value_of(x) if type(x) in (SymInt, SymFloat) else self.text(x, -1)

    def _percent(self, text: str, x: Any) -> str:
        """`text % x`."""
        x = tuple(x) if isinstance(x, tuple) else x  # a named one counts as one
        if isinstance(x, dict):
            self._recorder.need_passive(x)
            return str(text % self._recorder.deep(x))
        if self._recorder.defers_text and _WIDTH.search(text) is None:
            text, x = self._recorder.texts.percent(text, x)
        words = list(map(self.shown_in(text), x if type(x) is tuple else (x,)))
        return str(text % (tuple(words) if type(x) is tuple else words[0]))

    def shown(self, o: Any, name: str) -> Any:
        """`str(o)` or `repr(o)`."""
        o = self._number(o)
        if type(o) is Deferred or type(o) in ATOMS or isinstance(o, torch.Tensor):
            return str(o) if name == "__str__" else repr(o)
        method = self.special(o, name) or self.special(o, "__repr__")
        if method is not None:
            return method()
        if type(o) in (list, tuple, set, dict) and not self._recorder.shadows:
            return str(wrapped(self, self._recorder.content(o)))
        o = self._recorder.deep(o)
        if isinstance(o, BaseException):
            return self._of_error(o, name)
        return str(o) if name == "__str__" else repr(o)

    def _of_error(self, error: BaseException, name: str) -> str:
        """The text of an error, which is that of its arguments."""
        given, error.args = error.args, tuple([word(self, self._number(a)) for a in error.args])
        try:
            return str(error) if name == "__str__" else repr(error)
        finally:
            error.args = given

    # ------------------------------------------------------------------ errors and blocks

    def tries(self) -> None:
        """The program may handle the errors of what follows."""
        self._recorder.catches = True

    def caught(self, kinds: Any, is_named: bool) -> Any:
        """The classes of errors that a handler takes: a refusal of the tracer's is none of them.

        Nor is an error of a part of the program that has run: eager execution decides by its data.
        An error of a shape rule stands for eager execution's, unless the handler looks at it. The
        handlers of a context manager that a generator makes raise again what the generator does.
        """
        error = sys.exc_info()[1]
        if self._recorder.tracer.failed:
            return ()
        if isinstance(error, AnyshapeError):
            if error.is_refusal or _passes_through(error):
                return ()
            call = call_of(error) if isinstance(error, ShapeError) else None
            if call is not None:
                return self._handled(error, call, kinds, is_named=is_named)
            bases: tuple[type, ...] = type(error).__mro__
            eagers = (k for k in _EAGER if k in bases)
            if not issubclass(next(eagers, RuntimeError), kinds):
                return ()
            if is_named:
                raise self._recorder.unsupported("an error of an op is looked at")
        elif isinstance(error, Exception):
            call = call_of(error)
            if call is not None:
                return self._handled(error, call, kinds, is_named=is_named)
        return kinds

    def _handled(self, error: Exception, call: Any, kinds: Any, *, is_named: bool) -> Any:
        """The class of an error that a rule raised, if the handler catches eager execution's."""
        kind = eager_class(*call)
        if isinstance(error, AnyshapeError):
            error.is_refusal = kind is None
        elif kind is None:
            raise self._recorder.unsupported("an error of an op is handled")
        if kind is None or not issubclass(kind, kinds):
            return ()
        if is_named:
            raise self._recorder.unsupported("an error of an op is looked at")
        return type(error)

    @property
    def does_effects(self) -> bool:
        """Whether effects happen while the program is traced."""
        return bool(self._recorder.options.effects == DONE)

    def need_unseen(self, error: AnyshapeError) -> None:
        """Refuse an error of a shape rule that code of the program gets to see.

        Where effects are refused, the error ends the trace anyway.
        """
        if self._recorder.replays:
            raise self._recorder.unsupported("an error of an op is looked at") from error

    def raised(self, error: Any) -> Any:
        """The exception to raise."""
        if isinstance(error, type) and issubclass(error, BaseException):
            return self.calls.ready(error)()
        return error

    def manager(self, o: Any) -> Any:
        """The context manager of a `with` statement."""
        o = self._recorder.tracer.block(o)
        kind = type(o)
        if is_silent_checkpoint(self._recorder, o):
            return contextlib.nullcontext()
        if sees_ops(kind):
            raise self._recorder.refusal(f"a {kind.__name__}, which sees the ops, is entered")
        enter = getattr(kind, "__enter__", None)
        leave = getattr(kind, "__exit__", None)
        if type(enter) is not Function or type(leave) is not Function:
            if self._recorder.is_outside(o) and not in_package(kind.__module__, "torch"):
                raise self._recorder.refusal(f"a {kind.__name__} is entered")
            return o
        is_setting(kind)
        if not self.calls.is_recorded(enter) and not self.calls.is_recorded(leave):
            return UnseenBlock(self._recorder, o)
        self._recorder.kind(o)
        self._recorder.lookup(kind, "__enter__")
        self._recorder.lookup(kind, "__exit__")
        self._recorder.catches = True
        return Block(self.calls, o, enter, leave)


def _truth_of(found: Any) -> bool:
    """The result of a user's `__bool__`, checked as Python checks it."""
    if type(found) is not bool and type(found) is not SymBool:
        raise TypeError(f"__bool__ should return bool, returned {type_of(found).__name__}")
    return bool(found)


def _passes_through(error: BaseException) -> bool:
    """Whether the handler that is asked is one of `contextlib`."""
    at = error.__traceback__  # which begins with the frame of the handler
    return at is not None and at.tb_frame.f_code.co_filename == contextlib.__file__


# ---------------------------------------------------------------------- one hook for each operator


def _binary(plain: Callable[..., Any], name: str, reflected: str) -> Callable[..., Any]:
    def binary(self: Operations, a: Any, b: Any) -> Any:
        if type(a) in ATOMS and type(b) in ATOMS:
            return plain(a, b)
        return self._slow(plain, name, reflected, a, b)

    def compared(self: Operations, a: Any, b: Any) -> Any:
        return binary(self, self.plain(a), self.plain(b))

    def modulo(self: Operations, a: Any, b: Any) -> Any:
        return self._percent(a, b) if type(a) is str else binary(self, a, b)

    if plain is operator.mod:
        return modulo
    return compared if name.strip("_") in _REFLECTED else binary


def _inplace(plain: Any, name: str, binary: Any) -> Callable[..., Any]:
    def inplace(self: Operations, a: Any, b: Any) -> Any:
        if type(a) in ATOMS and type(b) in ATOMS:
            return plain(a, b)
        if isinstance(a, torch.Tensor):
            if is_array(b) and type(b).__hash__ is None:  # which takes the operator over
                raise self._recorder.unsupported("an array of NumPy is added to a tensor in place")
            return plain(a, b)
        if is_array(a) and not self._recorder.may_write(a):
            raise self._recorder.refusal("an array is changed in place")
        method = self.special(a, name)
        if method is not None:
            result = method(b)
            return binary(self, a, b) if result is NotImplemented else result
        if isinstance(a, set) and not isinstance(b, set | frozenset):
            return binary(self, a, b)
        if isinstance(a, list | dict | set | deque | bytearray) and hasattr(a, name):
            self.calls.containers.method(a, name)(b)
            return a
        return binary(self, a, b)

    return inplace


def _unary(plain: Any, name: str) -> Callable[..., Any]:
    def unary(self: Operations, a: Any) -> Any:
        if type(a) in ATOMS:
            return plain(a)
        method = self.special(a, name)
        if method is not None:
            return method()
        return at_values(plain, a) if is_array(a) else plain(a)

    return unary


def _add_operators() -> None:
    """Give `Operations` a method for each operator, by the name that `operator` has for it."""
    made = {}
    for name in _BINARY:
        word = name.rstrip("_")
        made[name] = _binary(getattr(operator, name), f"__{word}__", f"__r{word}__")
        inplace = getattr(operator, f"i{word}")
        made[f"i{word}"] = _inplace(inplace, f"__i{word}__", made[name])
    for name, other in _REFLECTED.items():
        made[name] = _binary(getattr(operator, name), f"__{name}__", f"__{other}__")
    for name in _UNARY:
        made[name] = _unary(getattr(operator, name), f"__{name}__")
    for name, method in made.items():
        method.__name__ = name
        setattr(Operations, name, method)


_add_operators()


def _compares_identity(cls: Any) -> bool:
    return cls.__eq__ is object.__eq__


_EAGER: Final = (IndexError, ZeroDivisionError, OverflowError, ValueError, TypeError)
_BUILTIN: Final = frozenset(
    {list, dict, set, tuple, frozenset, deque, OrderedDict, types.ModuleType, type}
)
_NEW: Final = (list, dict, set)
