"""How a program makes an object that the trace made: a function to call, with what.

Containers and plain objects are made by what they hold, see `owner.py`. The others here are
functions, methods, partial functions, iterators in C, errors and subclasses of tuples and sets.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import types
import warnings
from typing import Any, Final, NamedTuple

from anyshape.trace.record.atom import HEAP, Function
from anyshape.trace.record.live import Places
from anyshape.trace.twin.twin import code_behind, is_twin


class Recipe(NamedTuple):
    """`make(*parts)`, then `__setstate__(state)` and the attributes."""

    make: Any
    parts: tuple[Any, ...]
    state: Any = None
    attributes: dict[str, Any] = {}  # noqa: RUF012  nobody writes to it


class Tested:
    """The predicate that `filter` calls in a trace: the test of its result is recorded."""

    __slots__ = ("_call", "_truth", "function")

    def __init__(self, function: Any, call: Any, truth: Any) -> None:
        self.function, self._call, self._truth = function, call, truth

    def __call__(self, x: Any) -> Any:
        """Whether `filter` keeps an item."""
        return self._truth(x if self._call is None else self._call(x))


def recipe_of(x: Any) -> Recipe | None:
    """How to make an object like `x`; None if there is no way that is surely right."""
    kind: Any = type(x)
    if kind is Function:
        return _function(x) if is_twin(x.__code__) else None
    if hasattr(kind, "made_by"):  # of a trace, in place of something of torch
        return Recipe(*x.made_by())
    if kind is types.MethodType:
        return Recipe(kind, (x.__func__, x.__self__))
    if kind is functools.partial:
        return Recipe(_partial, (x.func, x.args, x.keywords), None, x.__dict__)
    if kind is Places:
        return Recipe(iter, (x.container,), x.place)
    if kind in ITERATORS:
        return _iterator(x)
    if kind is types.MappingProxyType:
        return Recipe(kind, tuple(gc.get_referents(x)))
    if issubclass(kind, BaseException):
        return _error(x)
    bases = [base for base in (tuple, frozenset, set) if issubclass(kind, base)]
    if bases and kind.__flags__ & HEAP and kind.__new__ is bases[0].__new__:
        own = getattr(x, "__dict__", {})
        has_slots = any("__slots__" in vars(base) and base.__slots__ for base in kind.__mro__)
        parts = tuple(bases[0].__iter__(x))
        make = functools.partial(_derived, bases[0], kind)
        return None if has_slots else Recipe(make, (parts,), None, own)
    return None


def _iterator(x: Any) -> Recipe | None:
    with warnings.catch_warnings():
        if sys.version_info >= (3, 12):  # where taking them apart is deprecated
            warnings.simplefilter("ignore", DeprecationWarning)
        make, parts, *state = x.__reduce__()
    return Recipe(make, parts, state[0] if state else None)


def _error(e: BaseException) -> Recipe | None:
    """An error that was never raised: one that was has a traceback, which is of its own run."""
    kind: Any = type(e)
    if e.__traceback__ is not None or type(kind.__new__) is Function:
        return None
    own = {
        "__cause__": e.__cause__,
        "__context__": e.__context__,
        "__suppress_context__": e.__suppress_context__,
        **e.__dict__,
    }
    make = functools.partial(kind.__new__, kind) if kind.__flags__ & HEAP else kind
    return Recipe(make, e.args, None, own)


def _function(f: Any) -> Recipe | None:
    code = code_behind(f.__code__)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    if code is None or not {*code.co_freevars} <= {*cells}:
        return None
    about = {name: getattr(f, name) for name in ("__name__", "__doc__", "__module__")}
    if f.__qualname__ != f.__code__.co_qualname:
        about["__qualname__"] = f.__qualname__
    make = functools.partial(_made_function, code, f.__globals__.real, about)
    closure = tuple([cells[name] for name in code.co_freevars])
    told = (f.__defaults__, f.__kwdefaults__, f.__annotations__)
    return Recipe(make, (closure, *told), None, f.__dict__)


def _made_function(code: Any, space: Any, about: dict[str, Any], /, *parts: Any) -> Any:
    closure, defaults, named, notes = parts
    made = Function(code, space, code.co_name, defaults, closure or None)
    made.__kwdefaults__ = named
    made.__annotations__ = notes
    for name, value in about.items():
        setattr(made, name, value)
    return made


def _partial(function: Any, args: Any, named: Any) -> Any:
    return functools.partial(function, *args, **named)


def _derived(base: Any, kind: Any, parts: Any) -> Any:
    made = base.__new__(kind, parts)
    if base is set:
        set.update(made, parts)
    return made


_EMPTY: Final[Any] = ([], (), range(0), "", b"")
ITERATORS: Final = frozenset(
    {zip, map, filter, enumerate, reversed, type(reversed([])), *[type(iter(x)) for x in _EMPTY]}
    | {itertools.count, itertools.islice, itertools.repeat, itertools.starmap, itertools.cycle}
    | {itertools.zip_longest, itertools.filterfalse, itertools.takewhile, itertools.dropwhile}
    | {itertools.accumulate, itertools.chain, itertools.compress}
)
