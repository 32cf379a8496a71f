"""Calls of functions without twins that only compute: of C, of NumPy, of Python's own modules."""

from __future__ import annotations

import copy
import functools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any, Final

from anyshape.symbolic.numpy_scalar import value_of
from anyshape.trace.graph.graph import SYMBOLIC
from anyshape.trace.record.foreign.alone import born_alone, need_copied_by_python
from anyshape.trace.record.foreign.lent import Lent
from anyshape.trace.record.foreign.watched_call import call_watched
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import is_array
from anyshape.trace.state.generator_state import is_generator

if TYPE_CHECKING:
    from anyshape.trace.record.builtin.iteration import Iterations
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_NEW: Final = (
    list,
    dict,
    set,
    frozenset,
    tuple,
    deque,
    OrderedDict,
    defaultdict,
    Counter,
    bytearray,
)
_VALUES: Final = frozenset((int, float, complex, bool, str, bytes, type(None)))
_PICKLING: Final = ("_pickle", "pickle")  # they call methods of what they are given, and make


class PlainCalls:
    """Such calls in one trace."""

    def __init__(self, calls: Calls, recorder: Recorder, iterations: Iterations) -> None:
        self._calls = calls
        self._recorder = recorder
        self._operators = calls.operators
        self._iterations = iterations

    def call(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function that reads what it is given, and calls functions that it is given.

        It gets copies of containers from outside, so that a change shows, and is refused.
        """
        if not args and not named and _is_of_module(f):
            return self._asked(f)
        if any(is_generator(a) for a in (*args, *named.values())):
            raise self._recorder.refusal("a random generator is given to code that is not recorded")
        pickles = getattr(f, "__module__", None) in _PICKLING
        for a in (*args, *named.values()) if pickles else ():
            need_copied_by_python(self._recorder, a)
        lent = Lent(self._calls, self._recorder)
        if getattr(f, "__module__", "") == "inspect":  # which calls none of the functions
            return self._compute(f, args, named, lent, self._iterations.looked_at)
        try:
            result = self._compute(f, args, named, lent, lent.lend)
        except Exception:
            if lent.were_called:
                raise
        else:
            if lent.were_used:
                return result
        return self._compute(f, args, named, lent, lent.seen)

    def _asked(self, f: Any) -> Any:
        """Call a function without arguments: it tells of state, and is asked before every run."""
        held = [f()]
        born_alone(self._recorder, held)
        result, told = held[0], _as_data(held[0])
        if result is None:
            raise self._recorder.refusal(f"{f.__name__}() is called")
        if told is not None:
            self._recorder.note(reads.CALL, functools.partial(_data_of, f), (), told)
        elif not self._recorder.is_born(result):
            self._recorder.note(reads.CALL, f, (), result)
        return self._found(result, ())

    def _compute(self, f: Any, args: Any, named: dict[str, Any], lent: Lent, lend: Any) -> Any:
        """Call such a function once, with what `lend` gives for the functions that it is given."""
        plain = self._operators.plain
        read, parts = self._iterations.given, lent.lend_parts
        given = [parts(read(plain(a), lend), lend) for a in args]
        others = {k: parts(read(plain(a), lend), lend) for k, a in named.items()}
        copies = [(i, a, copy.copy(a)) for i, a in enumerate(given) if self._is_shared(a)]
        for i, _, c in copies:
            given[i] = c
        shared = [
            a for a in (*given, *others.values()) if hasattr(a, "__setitem__") and is_array(a)
        ]
        shared = [a for a in shared if not isinstance(a, type) and not self._recorder.may_write(a)]
        arrays = [(a, a.copy()) for a in shared]
        everything = (*given, *others.values())
        held = [call_watched(self._recorder, f, everything, lambda: called(f, given, others))]
        if getattr(f, "__module__", None) in _PICKLING:
            need_copied_by_python(self._recorder, held[0])
        born_alone(self._recorder, held)
        result = held[0]
        for a, c in arrays:
            if not reads.same_content(reads.content_of(a), reads.content_of(c)):
                a[...] = c
                raise self._recorder.refusal(f"{getattr(f, '__name__', f)} changes an array")
        for _, a, c in copies:
            if not reads.same_content(reads.content_of(c), reads.content_of(a)):
                raise self._recorder.refusal(
                    f"{getattr(f, '__name__', f)} changes a {type(c).__name__}"
                )
        return self._found(result, given)

    def _is_shared(self, a: Any) -> bool:
        kinds = (list, dict, set, deque, bytearray)
        return type(a) in kinds and not self._recorder.may_write(a)

    def _found(self, result: Any, given: Any) -> Any:
        """The result of a function: a new container, an argument, or an object that it keeps."""
        if type(result) in _NEW and all(result is not a for a in given):
            return self._recorder.born(result)
        return result


def called(f: Any, given: list[Any], others: dict[str, Any]) -> Any:
    """Call a function; one of C that takes nothing but Python's own numbers gets the values."""
    try:
        return f(*given, **others)
    except TypeError:
        everything = (*given, *others.values())
        if not any(type(a) in SYMBOLIC for a in everything) or any(map(_is_used_up, everything)):
            raise
    return f(*map(_plain_number, given), **{k: _plain_number(a) for k, a in others.items()})


def _is_used_up(a: Any) -> bool:
    """Whether a call that failed may have taken items from an argument."""
    return hasattr(type(a), "__next__")


def _plain_number(a: Any) -> Any:
    return value_of(a) if type(a) in SYMBOLIC else a


def _is_of_module(f: Any) -> bool:
    """Whether a callable is a function, and no method that has its object as an argument."""
    if type(f) is types.BuiltinFunctionType:
        return f.__self__ is None or type(f.__self__) is types.ModuleType
    return type(f) is types.FunctionType


def _data_of(f: Any) -> Any:
    return _as_data(f())


def _as_data(x: Any) -> Any:
    """Plain data with their kind, as nested tuples; None for anything else."""
    if type(x) in _VALUES:
        return (type(x), x)
    if type(x) is dict:
        parts = [_as_data(part) for item in x.items() for part in item]
    elif type(x) in (list, tuple):
        parts = [*map(_as_data, x)]
    else:
        return None
    return None if None in parts else (type(x), *parts)
