"""Builtins that go through their arguments, or call them: `map`, `sorted`, `any`, itertools."""

from __future__ import annotations

import builtins
import functools
import io
import itertools
import math
import operator
import types
from collections import Counter, OrderedDict, deque
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.record.container.live import checked_iterator
from anyshape.trace.record.container.recipe import Tested
from anyshape.trace.record.foreign.lent import may_reach
from anyshape.trace.record.foreign.plain_call import called
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.sequence.list_call import list_total
from anyshape.trace.sequence.open_call import open_enumerate, open_zip
from anyshape.trace.sequence.sym_list import SymList
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_ITERATING: Final[Any] = (
    list, tuple, set, frozenset, dict, deque, OrderedDict, Counter, enumerate, zip,
    itertools.chain, itertools.product, itertools.accumulate,
    itertools.islice, itertools.zip_longest, itertools.combinations, itertools.permutations,
    itertools.cycle, itertools.groupby, itertools.starmap, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse, itertools.compress, itertools.tee, map,
    functools.reduce, math.prod, math.fsum, math.dist, math.hypot, bytes,
)  # fmt: skip
_LAZY: Final = frozenset(
    {enumerate, zip, map, itertools.chain, itertools.accumulate, itertools.islice,
     itertools.zip_longest, itertools.cycle, itertools.groupby, itertools.starmap,
     itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.compress}
)  # fmt: skip
_CALLING: Final = frozenset(
    map(id, (map, functools.reduce, itertools.starmap, itertools.takewhile, itertools.dropwhile,
             itertools.filterfalse))
)  # fmt: skip
_COMPUTING: Final[Any] = (itertools.accumulate, math.prod, math.fsum, math.dist)  # with items
_ABOUT: Final = ("__code__", "__defaults__", "__kwdefaults__", "__annotations__")
_GATHERING: Final = (list, tuple, bytes, bytearray)  # they ask how long a list may become
_HASHING: Final = (set, frozenset, dict, OrderedDict, Counter)
_MAPPINGS: Final = (dict, OrderedDict, Counter)
_SPECIAL: Final[Any] = (
    (abs, "__abs__"), (round, "__round__"), (divmod, "__divmod__"), (math.floor, "__floor__"),
    (math.ceil, "__ceil__"), (math.trunc, "__trunc__"), (operator.index, "__index__"),
    (complex, "__complex__"),
)  # fmt: skip


class Iterations:
    """The substitutes for such builtins."""

    def __init__(self, calls: Calls, recorder: Recorder) -> None:
        self._calls = calls
        self._recorder = recorder
        self._attributes = calls.attributes
        self._containers = calls.containers
        self._operators = calls.operators

    def substitutes(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of a builtin and what to call in its place."""
        yield builtins.iter, self._iter
        yield builtins.next, self._next
        yield builtins.any, self._any
        yield builtins.all, self._all
        yield builtins.sum, self._sum
        yield builtins.sorted, self.sorted_
        yield builtins.filter, self._filter
        yield builtins.reversed, self._reversed
        yield operator.attrgetter, self._attribute_getter
        yield operator.itemgetter, self._item_getter
        yield operator.methodcaller, self._method_caller
        for f, name in _SPECIAL:
            yield f, functools.partial(self._by_method, f, name)
        for f in _ITERATING:
            yield f, functools.partial(self._iterating, f)

    def given(self, a: Any, lend: Any = None) -> Any:
        """An argument of a function that is not recorded: what it may call is ready, or what `lend`
        gives; the rest is read. Without `lend`, it calls what can be called.
        """
        kind = type(a)
        if may_reach(a) if lend is not None else callable(a):
            return (lend or self._calls.ready)(a)
        if kind in ATOMS or isinstance(a, torch.Tensor | type | torch.nn.Module):
            return a
        if isinstance(a, io.IOBase) and not self._recorder.is_born(a):
            raise self._recorder.refusal(f"a {kind.__name__} is used")
        self._recorder.need_passive(a)
        return self._recorder.deep(a)

    def looked_at(self, a: Any) -> Any:
        """A function that is an argument of one that looks at functions, and calls none."""
        f = a.__func__ if type(a) is types.MethodType else a
        if type(f) is Function and not is_twin(f.__code__):
            recorder = self._recorder
            for name in _ABOUT:
                recorder.note_value(reads.ATTRIBUTE, f, name, getattr(f, name))
            for part in (f.__kwdefaults__, f.__annotations__, f.__dict__):
                if part:
                    recorder.content(recorder.outside(part))
        return a

    def _attribute_getter(self, *names: str) -> Any:
        attribute = self._attributes.attribute

        def one(o: Any, path: str) -> Any:
            for name in path.split("."):
                o = attribute(o, name)
            return o

        if len(names) == 1:
            return lambda o: one(o, names[0])
        return lambda o: tuple([one(o, name) for name in names])

    def _iter(self, o: Any, *sentinel: Any) -> Any:
        if sentinel:
            return self._recorder.born(iter(self._calls.ready(o), *sentinel))
        method = self._operators.special(o, "__iter__")
        if method is not None:
            return checked_iterator(method())
        return self._recorder.born(iter(self._containers.looped(o)))

    def _next(self, o: Any, *default: Any) -> Any:
        method = self._operators.special(o, "__next__")
        if method is not None:
            try:
                return method()
            except StopIteration:
                if default:
                    return default[0]
                raise
        if self._recorder.is_outside(o) and not self._recorder.is_born(o):
            return self._calls.draws.moved(o, default)
        return next(o, *default)

    def _iterating(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """A function that goes through its arguments; some call the first one."""
        if (found := self._open(f, args, named)) is not None:
            return found
        if f is bytes and args and self._operators.special(args[0], "__bytes__") is not None:
            return self._operators.special(args[0], "__bytes__")()
        if f in _COMPUTING and (f is not itertools.accumulate or len(args) < 2):
            args = tuple([a if type(a) in ATOMS else self._listed(a) for a in args])
            for a in args:
                self._recorder.need_passive(a)
        gone_through = self._looped if f in _LAZY else self.iterated
        gone_through = self._gathered if f in _GATHERING else gone_through
        if id(f) in _CALLING and args:
            given = [self._calls.ready(args[0]), *[gone_through(a) for a in args[1:]]]
        elif f in (itertools.accumulate, itertools.groupby) and len(args) > 1:
            given = [gone_through(args[0]), *[self.given(a) for a in args[1:]]]
        else:
            given = [gone_through(a) for a in args]
        if f in _MAPPINGS and args and not isinstance(args[0], dict) and hasattr(args[0], "keys"):
            given[0] = self._containers.mapping(args[0])
        if f in _HASHING and self._recorder.texts.are_used:
            given = [dict(g).items() if isinstance(g, dict) else g for g in given]
            given = [[self._operators.plain(x) for x in g] for g in given]
        if f in _HASHING and given and not hasattr(given[0], "keys"):
            given[0] = list(given[0])
            keys = given[0]
            if f in (dict, OrderedDict):
                keys = [x[0] for x in keys if isinstance(x, tuple | list) and x]
            self._containers.comparisons.hash_all(keys)
        others = {k: self.given(a) if callable(a) else a for k, a in named.items()}
        result = called(f, given, others)
        return self._recorder.born(result) if type(result) not in ATOMS else result

    def _listed(self, a: Any) -> Any:
        """A list of what a function called with `a` iterates over, made by the trace."""
        return self._recorder.born(list(self.iterated(a)))

    def _open(self, f: Any, args: Any, named: Any) -> Any:
        """What is gone through as often as only the run knows; None where that is known."""
        if f is list and len(args) == 1 and type(args[0]) is SymList:
            return args[0].copy()
        if not self._recorder.tracer.closes_loops or f not in (enumerate, zip):
            return None
        if f is enumerate:
            return open_enumerate(self._recorder.tracer, args, named)
        return open_zip(self._recorder, args, named)

    def iterated(self, a: Any) -> Any:
        """The iterable that a function called with `a` iterates over."""
        if type(a) in ATOMS or isinstance(a, torch.Tensor):
            return self._operators.plain(a) if type(a) is str else a
        return self._containers.iterated(a)

    def _gathered(self, a: Any) -> Any:
        """The iterable of which a function called with `a` makes a list."""
        if type(a) in ATOMS or isinstance(a, torch.Tensor):
            return self.iterated(a)
        return self._containers.gathered(a)

    def _looped(self, a: Any) -> Any:
        """The iterable that an iterator made from `a` iterates over."""
        found = self.iterated(a)
        return self._containers.looped(a) if found is a else found

    def _any(self, o: Any) -> bool:
        return any(self._operators.truth(x) for x in self.iterated(o))

    def _all(self, o: Any) -> bool:
        return all(self._operators.truth(x) for x in self.iterated(o))

    def _filter(self, f: Any, o: Any) -> Any:
        test = Tested(f, None if f is None else self.given(f), self._operators.truth)
        return self._recorder.born(filter(test, self._looped(o)))

    def _sum(self, o: Any, /, start: Any = 0) -> Any:
        if type(o) is SymList and type(start) is int and start == 0:
            return o.number(list_total)
        parts = list(self.iterated(o))
        if all(type(x) in ATOMS or isinstance(x, torch.Tensor) for x in (start, *parts)):
            return sum(parts, start)
        for x in parts:
            start = self._operators.add(start, x)
        return start

    def sorted_(self, o: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
        """`sorted`."""
        if type(o) is SymList:
            made = o.copy()
            made.sort(key=key, reverse=reverse)
            return made
        parts = list(self._gathered(o))
        ready = None if key is None else self.given(key)
        keys = parts if ready is None else [ready(x) for x in parts]
        keys = [self._operators.plain(k) for k in keys]
        if any(map(is_ordered, keys)):
            keys = [_Ordered(self._operators, k) for k in keys]
        order = sorted(range(len(parts)), key=keys.__getitem__, reverse=bool(reverse))
        return self._recorder.born([parts[i] for i in order])

    def _reversed(self, o: Any) -> Any:
        method = self._operators.special(o, "__reversed__")
        if method is not None:
            return method()
        if self._operators.special(o, "__getitem__") is not None:
            places = range(self._containers.length(o) - 1, -1, -1)
            return iter([self._containers.item(o, i) for i in places])
        return self._recorder.born(reversed(self.iterated(o)))

    def _by_method(self, f: Any, name: str, /, *args: Any, **named: Any) -> Any:
        """A builtin that Python turns into a call of a special method."""
        if not args or named:
            return f(*args, **named)
        x, *rest = args
        method = self._operators.special(x, name)
        if method is None and f is complex:
            return complex(x, *rest)
        return f(x, *rest) if method is None else method(*rest)

    def _item_getter(self, *keys: Any) -> Any:
        item = self._containers.item
        if len(keys) == 1:
            return lambda o: item(o, keys[0])
        return lambda o: tuple([item(o, key) for key in keys])

    def _method_caller(self, name: str, /, *args: Any, **named: Any) -> Any:
        return lambda o: self._calls.method(o, name)(*args, **named)


def is_ordered(x: Any) -> bool:
    """Whether an object is compared by a method of the user's, or by parts that may change."""
    kind = type(x)
    if kind in ATOMS:
        return False
    if isinstance(x, CONTAINERS):
        return not isinstance(x, tuple | frozenset) or any(map(is_ordered, x))
    return any(type(getattr(kind, name, None)) is Function for name in ("__lt__", "__gt__"))


class _Ordered:
    """A key that is compared by a method of the user's."""

    __slots__ = ("_key", "_operators")

    def __init__(self, operators: Any, key: Any) -> None:
        self._operators, self._key = operators, key

    def __lt__(self, other: _Ordered) -> bool:
        return bool(self._operators.truth(self._operators.lt(self._key, other._key)))
