"""What a function reads from outside its arguments, to be guarded, and to notice when it changes.

Read are: globals, closure cells and defaults of the function and of the user's functions that it
can reach, attributes of objects and modules by the names that occur in its code, those of objects
among the arguments too, parameters and buffers. Numbers and texts are compared by value, small
containers by what they hold, everything else by identity; tensors also by dtype, device and shape.
Nothing inside torch, the standard library or builtins is looked at.
"""

from __future__ import annotations

import collections
import datetime
import functools
import math
import os
import sys
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.env.site import is_framework
from anyshape.errors import EffectError, UnsupportedError
from anyshape.torch_compat.bytecode import catches, global_names
from anyshape.torch_compat.module_attribute import HOOKS, REGISTRIES
from anyshape.trace.state.substitutes import is_filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType

_PLAIN: Final = (int, bool, str, bytes, type(None))
_SMALL: Final = 64  # items of a container that are looked at
_MANY: Final = 20_000  # things that are looked at in all
_CONTAINERS: Final = (list, tuple, dict, set, frozenset, collections.deque)
_NOW: Final = frozenset(("now", "utcnow", "today"))
_MISSING: Final = object()


class Guarded(NamedTuple):
    """What a function read at `place`, by the user's name for it: `test` is Python that is true
    while it is the same; `read`, if there is one, gives what is there, which was `value`.
    """

    test: str
    place: str
    value: Any = None
    read: Callable[[], Any] | None = None


class Read(NamedTuple):
    """The entry `key` of a namespace, known to users as `name`, and what it was; `owner` is the
    class that the namespace belongs to.
    """

    space: Any
    key: str
    name: str
    value: Any
    owner: type | None = None

    def put_back(self) -> None:
        """Make it what it was."""
        if self.owner is None:
            self.space[self.key] = self.value
        else:
            setattr(self.owner, self.key, self.value)


class Held(NamedTuple):
    """A container, known to users as `name`, and what it held."""

    container: Any
    name: str
    content: Any


class Outside:
    """What a function reads, as it was when this was made."""

    def __init__(
        self,
        fn: Any,
        names: Sequence[str] = (),
        inputs: Sequence[Any] = (),
        ignored: Iterable[Any] = (),
    ) -> None:
        self.reads: list[Read] = []
        self.cells: list[tuple[Any, str, Any]] = []
        self.defaults: list[tuple[Any, str, Any]] = []
        self.held: list[Held] = []
        self.tensors: list[tuple[torch.Tensor, str]] = []
        self.spaces: dict[int, tuple[dict[str, Any], str, set[str]]] = {}  # of objects
        self.slots: list[tuple[Any, str, str, Any]] = []
        self.running: list[str] = []  # iterators, which a program would not move on
        self.catches = False  # whether a function has an `except` or a `finally`
        self._names: set[str] = set()
        self._seen: set[int] = {id(x) for x in inputs if isinstance(x, torch.Tensor)}
        self._clock = False  # whether `datetime` is at hand
        self._from_class: set[str] = set()  # names of data that classes hold
        self._ignored = {(id(a.owner), a.key) for a in ignored}
        self._objects: list[tuple[Any, str]] = []
        self._later: list[tuple[Any, str]] = [
            *zip(inputs, names, strict=True),
            (fn, _label(fn)),
        ]
        self._kept: list[Any] = []  # whose ids are noted
        self._survey()
        self._seen, self._kept, self._objects = set(), [], []

    # ------------------------------------------------------------------ finding

    def _survey(self) -> None:
        """Look at everything that can be reached; new names may reach more of known objects."""
        known = -1
        while known != len(self._names) or self._later:
            known = len(self._names)
            while self._later and len(self._seen) < _MANY:
                self._look(*self._later.pop())
            self._later = []
            for x, label in list(self._objects):
                self._attributes(x, label)

    def _look(self, x: Any, label: str) -> None:
        kind = type(x)
        if kind in _PLAIN or kind is float or id(x) in self._seen:
            return
        self._seen.add(id(x))
        self._kept.append(x)
        if isinstance(x, torch.Tensor):
            self.tensors.append((x, label))
        elif kind is types.FunctionType:
            self._function(x, label)
        elif hasattr(x, "__func__") and hasattr(x, "__self__"):
            self._look(x.__func__, label)
            self._look(x.__self__, "self")
        elif kind in _CONTAINERS:
            self._container(x, label)
        else:
            self._object(x, label)

    def _object(self, x: Any, label: str) -> None:
        kind = type(x)
        if x is datetime or x is datetime.datetime or x is datetime.date:
            self._clock = True
        elif isinstance(x, type):
            if not is_library(x):
                self._objects.append((x, label))
        elif kind is types.ModuleType:
            if not is_framework(getattr(x, "__file__", None) or "<built-in>"):
                self._objects.append((x, label))
        elif hasattr(x, "__next__") and not hasattr(x, "fileno"):
            self.running.append(label)
        elif isinstance(getattr(x, "__dict__", None), dict) or not is_library(kind):
            self._objects.append((x, label))
            self._class(kind)
        elif hasattr(x, "__wrapped__"):
            self._look(x.__wrapped__, label)

    def _function(self, f: types.FunctionType, label: str) -> None:
        inner = getattr(f, "__wrapped__", None)
        if inner is not None:
            self._look(inner, label)
        if is_framework(f.__code__.co_filename):
            return
        self._names |= _names_in(f.__code__)
        self.catches = self.catches or catches(f.__code__)
        for name in global_names(f.__code__):
            if name in f.__globals__:
                self._read(f.__globals__, name, name)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            value = cell.cell_contents if is_filled(cell) else _MISSING
            if id(cell) not in self._seen:
                self._seen.add(id(cell))
                self._kept.append(cell)
                self.cells.append((cell, name, value))
            self._later.append((value, name))
        if f.__defaults__:
            self.defaults.append((f, label, f.__defaults__))
        for value in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
            self._later.append((value, f"a default of {label}"))

    def _class(self, kind: type) -> None:
        """The methods of a class whose names occur, or that calling it runs.

        Of torch's own modules only the names of the attributes count that their methods read.
        """
        for base in kind.__mro__:
            library = getattr(base, "__module__", "").partition(".")[0]
            if library in ("builtins", "anyshape") or base is torch.nn.Module:
                continue
            if not is_library(base):
                space = vars(base)
                data = [n for n in self._names & space.keys() if not _is_code(space[n])]
                self._from_class.update(data)
                for name in data:
                    self._read(space, name, f"{base.__name__}.{name}", base)
            for name, value in vars(base).items():
                if name not in self._names and name not in ("forward", "__call__"):
                    continue
                inner = (getattr(value, "fget", None), getattr(value, "__func__", None))
                functions = [f for f in (value, *inner) if type(f) is types.FunctionType]
                if library == "torch":
                    for f in functions:
                        self._names |= _names_in(f.__code__)
                else:
                    self._later += [(f, name) for f in functions if id(f) not in self._seen]

    def _read(self, space: Any, key: str, name: str, owner: type | None = None) -> None:
        home = id(space if owner is None else owner)
        place = hash((home, key))
        if place in self._seen or (home, key) in self._ignored:
            return
        self._seen.add(place)
        value = space[key]
        self.reads.append(Read(space, key, name, value, owner))
        self._later.append((value, name))

    def _attributes(self, x: Any, label: str) -> None:
        if isinstance(x, type):
            self._class(x)
            return
        self._slots(x, label)
        own = getattr(x, "__dict__", None)
        if own is None:
            return
        self.spaces.setdefault(id(own), (own, label, set(own)))
        for name in self._names & own.keys():
            self._read(own, name, f"{label}.{name}")
        if isinstance(x, torch.nn.Module):
            for registry in REGISTRIES:
                for key in own[registry]:
                    self._read(own[registry], key, f"{label}.{key}")
                self._count(own[registry], label)
            for hooks in HOOKS:
                self._count(own[hooks], f"{label}.{hooks}")
        self._class(type(x))

    def _slots(self, x: Any, label: str) -> None:
        """What an object holds in slots, by the names that occur."""
        for base in type(x).__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                place = hash((id(x), "slot", name))
                if name in self._names and place not in self._seen and hasattr(x, name):
                    self._seen.add(place)
                    value = getattr(x, name)
                    self.slots.append((x, name, f"{label}.{name}", value))
                    self._later.append((value, f"{label}.{name}"))

    def _count(self, space: dict[str, Any], label: str) -> None:
        if id(space) not in self._seen:
            self._seen.add(id(space))
            self._kept.append(space)
            self.held.append(Held(space, label, len(space)))

    def _container(self, x: Any, label: str) -> None:
        items = list(x.items()) if isinstance(x, dict) else list(enumerate(x))
        if isinstance(x, list | dict | set | collections.deque):
            self.held.append(Held(x, label, x.copy()))
        for key, value in items[:_SMALL]:
            self._later.append((value, f"{label}[{key!r}]"))

    # ------------------------------------------------------------------ guards

    def conditions(self, name: Callable[[Any], str]) -> Iterator[Guarded]:
        """The conditions under which everything is as it was; `name` names an object in a test."""
        yield from self._of_places(name)
        yield from self._of_objects(name)
        for container, label, content in self.held:
            if type(content) is int:
                test = f"len({name(container)}) == {content}"
                yield Guarded(test, f"the number of members of {label}", content, container.__len__)
            elif len(content) <= _SMALL:
                word, held = name(container), name(_frozen(content))
                yield Guarded(f"{name(_frozen)}({word}) == {held}", f"the content of {label}")
        if self.tensors:
            labels = [label for _, label in self.tensors]
            others = f" or {len(labels) - 3} others" if len(labels) > 3 else ""
            place = f"the dtype, device or shape of {', '.join(labels[:3])}{others}"
            yield Guarded(f"{name(_Metas([t for t, _ in self.tensors]))}()", place)

    def _of_places(self, name: Callable[[Any], str]) -> Iterator[Guarded]:
        """Globals, attributes, cells, defaults and the environment."""
        spaces: dict[int, str] = {}
        for space, key, label, value, owner in self.reads:
            home = id(space if owner is None else owner)
            if home not in spaces:
                spaces[home] = name(space)
            read = functools.partial(space.__getitem__, key)
            yield Guarded(_same(f"{spaces[home]}[{key!r}]", value, name), label, value, read)
        for cell, label, value in self.cells:
            if value is not _MISSING:
                read = functools.partial(getattr, cell, "cell_contents")
                test = _same(f"{name(cell)}.cell_contents", value, name)
                yield Guarded(test, label, value, read)
        for f, label, value in self.defaults:
            test = f"{name(f)}.__defaults__ is {name(value)}"
            yield Guarded(test, f"the defaults of {label}")
        if self._names & {"environ", "getenv"}:
            environ = name(os.environ)
            for key in sorted(n for n in self._names if n.isupper()):
                value = os.environ.get(key)
                read = functools.partial(os.environ.get, key)
                test = f"{environ}.get({key!r}) == {value!r}"
                yield Guarded(test, f"the environment variable {key}", value, read)

    def _of_objects(self, name: Callable[[Any], str]) -> Iterator[Guarded]:
        """What objects hold in slots, and what hides the data of their classes."""
        for own, label, keys in self.spaces.values():
            for key in sorted(self._from_class - keys):
                yield Guarded(f"{key!r} not in {name(own)}", f"{label}.{key}")
        for x, slot, label, value in self.slots:
            read = functools.partial(getattr, x, slot)
            yield Guarded(_same(f"{name(x)}.{slot}", value, name), label, value, read)

    # ------------------------------------------------------------------ effects

    def need_still(self) -> None:
        """Raise if the function moves on an iterator, which could not be moved back, or asks for
        the time of day.
        """
        if self.running:
            raise _effect(self.running)
        if self._clock and self._names & _NOW:
            raise UnsupportedError(
                "the time of day inside a compiled function",
                why="its value would be frozen into the program, the same for every call",
                fix="pass the value as an argument",
            )

    def need_unchanged(self) -> None:
        """Raise if the function changed something that it reads; it is as before then."""
        changed = self.undo()
        if changed:
            raise _effect(changed)

    def undo(self) -> list[str]:
        """Put back what was changed since; the names of it."""
        return [*self._undo_places(), *self._undo_objects(), *self._undo_containers()]

    def _undo_places(self) -> Iterator[str]:
        for read in self.reads:
            if read.space.get(read.key, _MISSING) is not read.value:
                read.put_back()
                yield read.name
        for cell, label, value in self.cells:
            now = cell.cell_contents if is_filled(cell) else _MISSING
            if now is not value:
                if value is _MISSING:
                    del cell.cell_contents
                else:
                    cell.cell_contents = value
                yield label

    def _undo_objects(self) -> Iterator[str]:
        for own, label, keys in self.spaces.values():
            for key in own.keys() - keys:
                del own[key]
                yield f"{label}.{key}"
        for x, slot, label, value in self.slots:
            if getattr(x, slot, _MISSING) is not value:
                setattr(x, slot, value)
                yield label

    def _undo_containers(self) -> Iterator[str]:
        for container, label, content in self.held:
            if type(content) is not int and _ids(container) != _ids(content):
                container.clear()
                if type(container) in (list, collections.deque):
                    container.extend(content)
                else:
                    container.update(content)
                yield label


def _effect(names: Iterable[str]) -> EffectError:
    return EffectError(
        f"the function changes {', '.join(dict.fromkeys(names))}, which is outside of it",
        why="a compiled program repeats calls of torch, not assignments and appends",
        fix="return the value, or keep it in a tensor that is changed in place",
    )


def _same(text: str, value: Any, name: Callable[[Any], str]) -> str:
    """The condition that what `text` gives is the value, or equal to it where it is plain."""
    kind = type(value)
    if kind is bool or value is None:
        return f"{text} is {value}"
    if kind in (int, str, bytes):
        return f"{text} == {value!r} and type({text}) is {kind.__name__}"
    if kind is float and not math.isnan(value):
        return f"{text} == {name(value)} and type({text}) is float"
    return f"{text} is {name(value)}"


class _Metas:
    """Whether tensors have the dtype, device and shape that they had."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self.all = [(t, t.dtype, t.device, t.shape) for t in tensors]

    def __call__(self) -> bool:
        for t, dtype, device, shape in self.all:
            if t.dtype is not dtype or t.shape != shape or t.device != device:
                return False
        return True


def is_library(cls: type) -> bool:
    """Whether a class belongs to torch, to Python itself, to this system or to no source at all."""
    module = sys.modules.get(cls.__module__)
    return is_framework(getattr(module, "__file__", None) or "<frozen")


def _is_code(x: Any) -> bool:
    return callable(x) or isinstance(x, property | staticmethod | classmethod)


def _names_in(code: CodeType) -> set[str]:
    """The names that a function may look up: as written, and texts that may be names."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if type(constant) is str and constant.isidentifier():
            names.add(constant)
        elif isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _frozen(x: Any) -> Any:
    """What a container holds: plain values by value and type, the others by identity."""
    if isinstance(x, dict):
        return [(k, _plain_or_id(v)) for k, v in x.items()]
    return sorted(map(_plain_or_id, x), key=repr) if isinstance(x, set) else [*map(_plain_or_id, x)]


def _plain_or_id(x: Any) -> Any:
    kind = type(x)
    return (kind, x) if kind in _PLAIN or kind is float else id(x)


def _ids(x: Any) -> Any:
    if isinstance(x, dict):
        return [(k, id(v)) for k, v in x.items()]
    return {id(v) for v in x} if isinstance(x, set) else [*map(id, x)]


def _label(fn: Any) -> str:
    if isinstance(fn, torch.nn.Module):
        return "self"
    return str(getattr(fn, "__name__", type(fn).__name__))
