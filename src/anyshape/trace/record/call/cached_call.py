"""Calls of functions with a cache of their own, `functools.lru_cache`.

With plain arguments such a function is called as it is, outside the trace, and asked again before
every run, as eager execution asks it. Symbolic arguments do not reach the user's cache: a twin
computes what the cache would hold, which is the same if it depends on the arguments alone. One that
reads objects, or gives containers, is asked for the sizes of this call. A tensor that the cache
would hold is one over all calls: a program that changes or returns it is refused.

A trace that is given up has called the function once too often for a program that counts the calls.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.tensor import current
from anyshape.tensor.sym_tensor import SymSize, SymTensor
from anyshape.torch_compat.torch_function import DisableTorchFunction
from anyshape.trace import tree
from anyshape.trace.graph.graph import Value, leaves
from anyshape.trace.record.builtin.setting import may_set
from anyshape.trace.record.object_kind import ATOMS, LRU, SYMBOLIC, Function
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

_METHODS: Final = frozenset(("cache_info", "cache_clear"))
_CODE: Final = (Function, type, types.ModuleType, LRU)  # what a function may name


class CachedCalls:
    """The hooks for calls of functions with caches."""

    def __init__(self, calls: Calls, recorder: Recorder) -> None:
        self._calls = calls
        self._recorder = recorder
        self._keys: dict[int, set[Any]] = {}  # what caches were asked for
        self._inside: dict[int, Any] = {}
        self._given: list[tuple[Any, int]] = []  # tensors that caches would hold, versions
        recorder.cached = self._given

    def call(self, f: Any, /, *args: Any, **named: Any) -> Any:
        """Call a function with a cache."""
        recorder, plain = self._recorder, self._calls.operators.plain
        if _names(recorder, _METHODS):
            raise recorder.refusal(f"the cache of {f.__name__} is looked at or changed")
        if recorder.is_born(f):
            return self._within(f)(*args, **named)
        args, named = tuple(map(plain, args)), {k: plain(a) for k, a in named.items()}
        given = (*args, *named.values())
        if all(map(self._is_plain, given)):
            return self._ask(f, args, named)
        if any(type(a) is SymTensor and a._value.node is None for a in given):
            raise recorder.refusal(f"{f.__name__}, which has a cache, gets a tensor of the caller")
        result = self._compute(f, args, named)
        if _is_value(result) and not _has_state(f, given):
            return result
        if any(type(a) is SymTensor for a in given):
            raise recorder.refusal(f"{f.__name__}, which has a cache, gets a tensor")
        named = {k: _plain(a) for k, a in named.items()}
        return self._ask(f, tuple(map(_plain, args)), named)

    def _is_plain(self, x: Any) -> bool:
        if type(x) is tuple:
            return all(map(self._is_plain, x))
        if isinstance(x, torch.Tensor):
            return type(x) is not SymTensor and self._recorder.is_outside(x)
        return type(x) not in SYMBOLIC

    def _ask(self, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Ask the user's cache, now and before every run."""
        recorder = self._recorder
        asked = functools.partial(f, *args, **named)
        if may_set(f.__wrapped__):
            raise recorder.refusal(f"{f.__name__}, which has a cache, may change the process")
        before = current.enter(None)
        try:
            with DisableTorchFunction():
                value = asked()
        finally:
            current.leave(before)
        self._need_room(f, (args, tuple(named.items())))
        for part in tree.flatten(value)[0]:
            if isinstance(part, torch.Tensor):
                recorder.outside(part)  # the cache keeps it
        return recorder.note(reads.CALL, asked, (), value)

    def _compute(self, f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the cache would hold for symbolic arguments."""
        recorder = self._recorder
        recorder.outside(f)
        before = recorder.effects
        result = self._calls.ready(f.__wrapped__)(*args, **named)
        if recorder.effects != before:
            raise recorder.refusal("a function with a cache has effects")
        for part in leaves(result):
            if type(part) is SymTensor:
                self._given.append((part._value, part._value.root.version))
        return result

    def _within(self, f: Any) -> Any:
        """A cache that the program makes: it is new in every run, and holds what twins give."""
        found = self._inside.get(id(f))
        if found is None:
            made = functools.lru_cache(**f.cache_parameters())(self._calls.ready(f.__wrapped__))
            found = self._inside[id(f)] = made
        return found

    def _need_room(self, f: Any, key: Any) -> None:
        """Refuse a cache that loses what was asked, in a program that asks only once."""
        room = f.cache_parameters()["maxsize"]
        keys = self._keys.setdefault(id(f), set())
        keys.add(key)
        if self._recorder.is_refusing and room is not None and len(keys) > room:
            raise self._recorder.refusal(f"{f.__name__} has a cache that is too small, and runs")


def need_unchanged(recorder: Recorder) -> None:
    """Refuse a program that changes or returns a tensor which a cache of the user's would hold."""
    if not recorder.cached:
        return
    returned = [x.root for x in leaves(recorder.tracer.graph.outputs) if type(x) is Value]
    for value, version in recorder.cached:
        if value.root.version != version or any(value.root is root for root in returned):
            raise recorder.lifetime("is a tensor of a cache, and is changed or returned")


def _has_state(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether a function, or one that it names, may read what can change while its name stays."""
    if not all(map(_is_value, args)):
        return True
    todo, seen = [f.__wrapped__], set()
    while todo:
        g = todo.pop()
        if id(g) in seen or type(g) is not Function:
            continue
        seen.add(id(g))
        for value in _named(g):
            if not (type(value) in ATOMS or isinstance(value, _CODE)):
                return True
            todo.append(getattr(value, "__wrapped__", value))
    return False


def _named(f: Any) -> list[Any]:
    """The values of the global names and cells of a function."""
    found, codes = [], [f.__code__]
    for code in codes:
        found += [f.__globals__[name] for name in code.co_names if name in f.__globals__]
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    for cell in f.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return found


def _is_value(x: Any) -> bool:
    """Whether something has no parts that can change, but for the data of tensors."""
    if type(x) is tuple or type(x) is SymSize:
        return all(map(_is_value, x))
    return type(x) in ATOMS or isinstance(x, (*_CODE, torch.Tensor))


def _plain(x: Any) -> Any:
    """A value with those of this call for its symbolic numbers, which are conditions then."""
    if type(x) is SymSize:
        return torch.Size(map(_plain, x))
    if type(x) is tuple:
        return tuple(map(_plain, x))
    return x.__class__(x) if type(x) in SYMBOLIC else x


def _names(recorder: Recorder, names: frozenset[str]) -> bool:
    """Whether a function that the trace has called so far has one of these names in it."""
    return any(
        not names.isdisjoint(getattr(getattr(f, "__code__", None), "co_names", ()))
        for f in recorder._twins
    )
