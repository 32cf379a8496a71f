"""Methods of lists, dicts and the like, as a trace calls them."""

from __future__ import annotations

import functools
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

from anyshape.symbolic.numpy_scalar import INTEGERS
from anyshape.trace.record.container import kept_item
from anyshape.trace.record.container.method_name import BLIND, CHANGING, CONSUMING, FRESH
from anyshape.trace.record.effect import effect
from anyshape.trace.record.effect.held import Held
from anyshape.trace.record.foreign.lent import may_reach
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, Function
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.container.container import Containers
    from anyshape.trace.record.recorder import Recorder


_USED: Final = {  # methods that stand for a method in C, which calls none of the user's
    "get": ("__contains__", "__getitem__"),
    "__contains__": ("__contains__",),
    "__getitem__": ("__getitem__",),
    "__len__": ("__len__",),
}
_PLACED: Final = frozenset(("insert", "pop", "rotate"))  # whose first argument is a place
_GATHERING: Final = ("extend", "__iadd__", "join", "__add__")
_COMPARING: Final = frozenset(
    ("index", "count", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
)
_LOOKUPS: Final = frozenset(("get", "__contains__"))  # a key that is missing is no error


class ContainerMethods:
    """The callable for a method of a container: born in the trace, read, or changed."""

    def __init__(self, containers: Containers, recorder: Recorder) -> None:
        self._containers = containers
        self._recorder = recorder

    def ready(self, o: Any, name: str, *, is_native: bool = False) -> Any:
        """A method of a list, dict or the like; the one in C, if `is_native`."""
        recorder = self._recorder
        own = getattr(type(o), name, None)
        if type(own) is Function and not is_native:
            recorder.lookup(type(o), name)
            return functools.partial(self._containers.calls.ready(own), o)
        if recorder.may_write(o):
            if name == "get" and type(o) is dict:
                return functools.partial(self._got, o)
            return functools.partial(self._inside, o, name)
        if isinstance(o, tuple | frozenset) and name not in _COMPARING:
            return getattr(o, name)
        if name not in CHANGING:
            return functools.partial(self._reading, o, name)
        return functools.partial(self._changing, o, name)

    def _got(self, o: Any, /, *args: Any, **named: Any) -> Any:
        """`o.get(...)` of a dict that was born."""
        if args and type(args[0]) is str and not self._recorder.tracer.env.asker.shown:
            return o.get(*args, **named)
        return self._inside(o, "get", *args, **named)

    def _inside(self, o: Any, name: str, /, *args: Any, **named: Any) -> Any:
        """A call on a container that was born."""
        args = self._indexed(o, name, args)
        args, named = self._prepared(name, args, named)
        if isinstance(o, dict | set) and args:
            args = (self._containers.calls.operators.plain(args[0]), *args[1:])
            if type(args[0]) in INTEGERS:
                if name in _LOOKUPS and self._containers.looked_up(o, args[0]) is MISSING:
                    return args[1] if len(args) > 1 else None if name == "get" else False
                args = (self._containers.known_key(o, args[0]), *args[1:])
            elif name in CONSUMING and isinstance(args[0], CONTAINERS):
                self._containers.comparisons.hash_all(args[0], o)
            elif type(args[0]) not in ATOMS:
                self._containers.comparisons.compared(args[0], o)
        if (
            name in ("index", "count", "remove")
            and len(args) == 1
            and isinstance(o, list | deque | tuple)
            and self._containers.comparisons.has_equality(args[0], o)
        ):
            if name == "remove":
                return self._containers.comparisons.removed(o, args[0])
            return self._containers.comparisons.found(o, name, args[0])
        if name in CHANGING and self._recorder.is_published(o):
            return self._on_named(o, name, args, named)
        if name in _COMPARING:
            seen, *compared = [kept_item.whole(self._recorder, x) for x in (o, *args)]
            return effect.native(seen, name)(*compared, **named)
        result = effect.native(o, name)(*args, **named)
        return self._containers.fresh(result) if name in FRESH else result

    def _on_named(self, o: Any, name: str, args: Any, named: Any) -> Any:
        """A call that changes a container which the program has by name."""
        recorder = self._recorder
        recorder.before_change(o)
        if name == "sort":  # the order is known, and the function that decides it need not run
            o.sort(**named)
            recorder.settle_changes()
            return None
        result, given, others = self._done(o, o, name, args, named)
        recorder.repeat(o, effect.call_method, _as_method(o, name), given, others)
        return result

    def _done(self, o: Any, seen: Any, name: str, args: Any, named: Any) -> tuple[Any, Any, Any]:
        """Do what changes `o`, on what the trace sees of it; the result, and the operands."""
        recorder = self._recorder
        given = self._operands(name, args)
        others = {k: recorder.operand(v) for k, v in named.items()}
        before = recorder.effects
        result = effect.native(seen, name)(*args, **named)
        if recorder.effects != before:
            raise recorder.refusal(f"a {type(o).__name__} is filled by code with effects")
        taken = zip(args, given, strict=True)
        given = tuple([self._taken(a.taken) if type(a) is _Drained else g for a, g in taken])
        return result, given, others

    def _reading(self, o: Any, name: str, /, *args: Any, **named: Any) -> Any:
        """A call that changes nothing."""
        recorder = self._recorder
        args = tuple([self._containers.calls.operators.plain(a) for a in args])
        if any(self._containers.is_overridden(o, used) for used in _USED.get(name, ())):
            return effect.native(recorder.content(o), name)(*args, **named)
        if name == "get" and isinstance(o, dict):
            if self._containers.contains(args[0], o):
                return self._containers.item(o, args[0])
            return args[1] if len(args) > 1 else named.get("default")
        if name == "__contains__":
            return self._containers.contains(args[0], o)
        if name == "__getitem__":
            return self._containers.item(o, args[0])
        if name == "__len__":
            return self._containers.length(o)
        seen = kept_item.seen(recorder, o)
        if (
            name in ("index", "count")
            and len(args) == 1
            and self._containers.comparisons.has_equality(args[0], o)
        ):
            return self._containers.comparisons.found(seen, name, args[0])
        args, named = self._prepared(name, args, named)
        if name in _COMPARING:
            seen, args = kept_item.whole(recorder, o), kept_item.whole(recorder, args)
        result = self._containers.views.note(effect.native(seen, name)(*args, **named), o)
        return self._containers.fresh(result) if name in FRESH else result

    def _changing(self, o: Any, name: str, /, *args: Any, **named: Any) -> Any:
        """A call that changes a container from outside: done on its shadow, and on every run."""
        recorder = self._recorder
        owner = recorder.dict_owner(o)
        if owner is not None:
            if name != "update":
                raise recorder.refusal("the dict of an object is changed")
            for key, value in dict(*args, **named).items():
                self._containers.calls.attributes.assign(owner, key, value)
            return None
        if named.get("key") is not None:
            raise recorder.refusal("a list from outside is sorted by a function")
        if name not in BLIND:
            kept_item.seen(recorder, o)
        recorder.assigned.pop(id(o), None)
        shadow = self._containers.shadow(o)
        args = self._indexed(o, name, args)
        args, named = self._prepared(name, args, named)
        if isinstance(o, dict | set) and args:
            args = (self._containers.calls.operators.plain(args[0]), *args[1:])
        if name == "setdefault" and args[0] in shadow:
            return shadow[args[0]]
        result, given, others = self._done(o, shadow, name, args, named)
        kept_item.follow(recorder, o, name, args)
        recorder.emit(effect.call_method, Held(o), _as_method(o, name), given, others)
        if isinstance(o, dict):
            recorder.look_up_again()
        return result

    def _indexed(self, o: Any, name: str, args: Any) -> Any:
        """Arguments in which a place, or a mapping, of the user's class is a plain one."""
        if not args or type(args[0]) in ATOMS:
            return args
        special = self._containers.calls.operators.special
        if isinstance(o, dict):
            is_mapping = name in ("update", "__ior__") and special(args[0], "keys") is not None
            return (dict(self._containers.mapping(args[0])), *args[1:]) if is_mapping else args
        index = special(args[0], "__index__") if name in _PLACED else None
        if index is None or not isinstance(o, list | deque | bytearray):
            return args
        return (index(), *args[1:])

    def _operands(self, name: str, args: Any) -> tuple[Any, ...]:
        operand = self._taken if name in CONSUMING else self._recorder.operand
        return tuple([operand(a) for a in args])

    def _taken(self, x: Any) -> Any:
        """An argument whose parts are taken over, as an operand."""
        operand = self._recorder.operand
        if isinstance(x, Counter):
            raise self._recorder.refusal("a Counter is added to a container")
        if isinstance(x, dict):
            return tuple([(operand(k), operand(part)) for k, part in x.items()])
        if isinstance(x, CONTAINERS):
            return tuple([operand(part) for part in x])
        return None if type(x) is _Drained else operand(x)

    def _prepared(self, name: str, args: Any, named: Any) -> Any:
        """Arguments of a method in C: callbacks are twins, and what is consumed is recorded."""
        if args and name in CONSUMING:
            args = tuple([self._consumed(a, name in _GATHERING) for a in args])
        if named:
            ready = self._containers.calls.ready
            named = {k: ready(a) if may_reach(a) else a for k, a in named.items()}
        return args, named

    def _consumed(self, x: Any, is_gathered: bool) -> Any:
        found = self._containers.gathered(x) if is_gathered else self._containers.iterated(x)
        return found if isinstance(found, CONTAINERS) else _Drained(iter(found))


class _Drained:
    """An iterator that keeps what was taken from it, one item at a time.

    A generator may read the container that its items are added to.
    """

    __slots__ = ("_source", "taken")

    def __init__(self, source: Iterator[Any]) -> None:
        self._source = source
        self.taken: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        value = next(self._source)
        self.taken.append(value)
        return value


def _as_method(o: Any, name: str) -> str:
    """The method that does to a container what an operator does, for an operand of any kind."""
    return _OF_SETS.get(name, name) if isinstance(o, set) else name


_OF_SETS: Final = {
    "__ior__": "update",
    "__isub__": "difference_update",
    "__iand__": "intersection_update",
    "__ixor__": "symmetric_difference_update",
}
