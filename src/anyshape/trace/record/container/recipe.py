"""How a program makes an object that the trace made: a function to call, with what.

Containers and plain objects are made by what they hold, see `owner.py`. The others here are
functions, methods (also in C), partial functions, iterators in C, generators that have not begun,
errors, weak references to tensors, generic types, and subclasses of tuples and sets.
"""

from __future__ import annotations

import functools
import gc
import inspect
import itertools
import operator
import types
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.tensor.sym_tensor import SymTensor
from anyshape.trace.record.container.live import Places
from anyshape.trace.record.effect.iterator_state import parts_of
from anyshape.trace.record.object_kind import HEAP, Function
from anyshape.trace.twin.twin import code_behind, is_twin

if TYPE_CHECKING:
    from collections.abc import Callable


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
    if kind in BOUND or (kind is types.MethodType and type(x.__self__) is SymTensor):
        return Recipe(getattr, (x.__self__, x.__name__))
    if kind is types.MethodType:
        return Recipe(kind, (x.__func__, x.__self__))
    if kind is functools.partial:
        return Recipe(_partial, (x.func, x.args, x.keywords), None, x.__dict__)
    if kind is Places:
        return Recipe(iter, (x.container,), x.place)
    if kind in ITERATORS:
        return _iterator(x)
    if kind in _BY_KIND:
        return _BY_KIND[kind](x)
    if issubclass(kind, BaseException):
        return _error(x)
    bases = [base for base in (tuple, frozenset, set) if issubclass(kind, base)]
    if bases and kind.__flags__ & HEAP and _makes(bases[0], kind):
        own = getattr(x, "__dict__", {})
        has_slots = any("__slots__" in vars(base) and base.__slots__ for base in kind.__mro__)
        parts = tuple(bases[0].__iter__(x))
        make = functools.partial(_derived, bases[0], kind)
        return None if has_slots else Recipe(make, (parts,), None, own)
    return None


def has_begun(x: Any) -> bool:
    """Whether an object is a generator that has run: where it stands cannot be told to another."""
    is_generator = type(x) is types.GeneratorType
    return is_generator and inspect.getgeneratorstate(x) != inspect.GEN_CREATED


def _generator(x: Any) -> Recipe | None:
    """A generator before its first step is a function and its arguments."""
    made_by = [f for f in gc.get_referents(x) if type(f) is Function and f.__code__ is x.gi_code]
    if has_begun(x) or not made_by:
        return None
    code, given = x.gi_code, x.gi_frame.f_locals
    names = list(code.co_varnames)
    count, named = code.co_argcount, code.co_kwonlyargcount
    others = names[count : count + named]
    rest = iter(names[count + named :])
    more = given[next(rest)] if code.co_flags & inspect.CO_VARARGS else ()
    keywords = {name: given[name] for name in others}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keywords.update(given[next(rest)])
    args = (*[given[name] for name in names[:count]], *more)
    return Recipe(_called, (made_by[0], args, tuple(keywords), tuple(keywords.values())))


def _called(f: Any, args: Any, names: Any, values: Any) -> Any:
    return f(*args, **dict(zip(names, values, strict=True)))


def _weak(ref: Any) -> Recipe | None:
    """A reference to a tensor of the program; one to another object would keep the object."""
    held = ref()
    return Recipe(weakref.ref, (held,)) if type(held) is SymTensor and not _calls(ref) else None


def _calls(ref: Any) -> bool:
    return ref.__callback__ is not None


def _union(*kinds: Any) -> Any:
    return functools.reduce(operator.or_, kinds)


def _makes(base: Any, kind: Any) -> bool:
    """Whether a class is made by a base in C, or by Python code that ends there."""
    return kind.__new__ is base.__new__ or type(kind.__new__) is Function


def _iterator(x: Any) -> Recipe | None:
    make, parts, *state = parts_of(x)
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


BOUND: Final = (types.BuiltinFunctionType, types.MethodWrapperType)  # methods in C, and functions
_EMPTY: Final[Any] = ([], (), range(0), "", b"")
ITERATORS: Final = frozenset(
    {zip, map, filter, enumerate, reversed, type(reversed([])), *[type(iter(x)) for x in _EMPTY]}
    | {itertools.count, itertools.islice, itertools.repeat, itertools.starmap, itertools.cycle}
    | {itertools.zip_longest, itertools.filterfalse, itertools.takewhile, itertools.dropwhile}
    | {itertools.accumulate, itertools.chain, itertools.compress}
)
_DICTS: Final[Any] = ({}, OrderedDict())
DICT_VIEWS: Final[dict[type, Any]] = {
    type(getattr(d, name)()): getattr(type(d), name)
    for d in _DICTS
    for name in ("keys", "values", "items")
}
"""The methods that give views of dicts, by the types of these."""
_BY_KIND: Final[dict[type, Callable[[Any], Recipe | None]]] = {
    types.GeneratorType: _generator,
    types.MappingProxyType: lambda x: Recipe(type(x), tuple(gc.get_referents(x))),
    types.GenericAlias: lambda x: Recipe(type(x), (x.__origin__, x.__args__)),
    types.UnionType: lambda x: Recipe(_union, x.__args__),
    weakref.ref: _weak,
    **{
        kind: lambda x: Recipe(DICT_VIEWS[type(x)], tuple(gc.get_referents(x)))
        for kind in DICT_VIEWS
    },
}
