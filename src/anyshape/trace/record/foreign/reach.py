"""What code without a twin may reach: objects of the user's, and functions that it may run.

Such code gets at what its names, its cells, its defaults and its arguments hold: at all items of a
container, at those attributes of an object that a name in the code says, and at the special methods
of its class, which operators, loops and texts call. Functions that it may run bring names of their
own. Whatever it could get at that is not followed here, and not known to compute only
(`known_call.py`), is refused. All that is reached counts as read.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import sys
import types
import weakref
from collections import namedtuple
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch

from anyshape.env.site import is_framework
from anyshape.trace.record.foreign.known_call import computes, is_value
from anyshape.trace.record.foreign.passive import is_generated
from anyshape.trace.record.foreign.territory import is_filled, is_library
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING, is_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.trace.record.reader import Reader

_MOST: Final = 1000  # objects that are looked at for one function
_NAMED: Final = ("LOAD_GLOBAL", "LOAD_NAME")
_MAKING: Final = ("__init__", "__new__", "__post_init__")
_WRITING: Final = frozenset(
    ("__setattr__", "__delattr__", "__setitem__", "__delitem__", "__set__", "__delete__",
     "__init_subclass__", "__class_getitem__", "__set_name__", "__del__", "__reduce__",
     "__reduce_ex__", "__getstate__", "__setstate__", "__dir__", *_MAKING)
)  # fmt: skip
_IN_PLACE: Final = frozenset(
    f"__i{op}__"
    for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
               "xor", "lshift", "rshift")
)  # fmt: skip
_DYNAMIC: Final = frozenset(("__dict__", "__getattribute__", "__globals__", "__subclasses__"))
_REGISTRIES: Final = ("_parameters", "_buffers", "_modules")
_HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks")
_PROPERTIES: Final = (property, types.DynamicClassAttribute)
_WRAPPING: Final = (*_PROPERTIES, classmethod, staticmethod, functools.cached_property)


class Reach:
    """What one function may reach; see the head of this file."""

    def __init__(self, recorder: Reader, f: Any) -> None:
        self._recorder = recorder
        self._name = f.__qualname__
        self._todo: list[Any] = [f]
        self._seen: dict[int, Any] = {}  # objects, which keeps their ids taken
        self._holders: list[Any] = []  # those that names lead on from
        self._names: dict[str, None] = {}
        self._looked: dict[int, int] = {}  # how many of them were looked up in a holder
        self.functions: dict[Any, None] = {}
        self.remakes = False  # whether an `__init__` is called by name, not through `super`
        self.makes = False  # whether objects of classes may be made
        self.has_objects = False  # whether something from outside can be changed

    def close(self, args: tuple[Any, ...]) -> Reach:
        """Follow all there is."""
        self._todo += args
        while self._todo:
            while self._todo:
                self._visit(self._todo.pop())
            names = [*self._names]
            for o in self._holders:
                is_first = id(o) not in self._looked
                done = self._looked.get(id(o), 0)
                self._looked[id(o)] = len(names)
                self._todo += self._by_name(o, names[done:], is_first=is_first)
        return self

    def _refuse(self, what: str) -> Exception:
        return self._recorder.refusal(f"{self._name} has no source, and may use {what}")

    def _visit(self, x: Any) -> None:
        if id(x) in self._seen or is_value(x) or x is MISSING:
            return
        self._seen[id(x)] = x
        if len(self._seen) > _MOST:
            raise self._refuse("many objects")
        step = _BY_KIND.get(type(x))
        if step is None:
            step = next(step for is_one, step in _BY_TEST if is_one(x))
        step(self, x)

    def _of_method(self, m: types.MethodType) -> None:
        self._todo += (m.__func__, m.__self__)

    def _of_partial(self, f: functools.partial[Any]) -> None:
        self._todo += (f.func, f.args, f.keywords)

    def _of_wrapper(self, d: Any) -> None:
        self._todo += _behind(d)

    def _of_reference(self, r: weakref.ref[Any]) -> None:
        self._todo.append(r())

    def _of_module(self, m: types.ModuleType) -> None:
        self._holders.append(m)

    def _of_class(self, cls: type) -> None:
        self.makes = self.has_objects = True
        self._holders.append(cls)
        self._todo += self._special(cls)
        self._todo += self._special(type(cls))

    def _of_container(self, c: Any) -> None:
        self._note(c)
        self._todo += [*c.keys(), *c.values()] if isinstance(c, dict) else list(c)
        if _is_object(c):
            self._of_holder(c)

    def _of_object(self, o: Any) -> None:
        self._note(o)
        self._of_holder(o)

    def _of_holder(self, o: Any) -> None:
        self._holders.append(o)
        self._todo += self._special(type(o))

    def _of_other(self, x: Any) -> None:
        if not computes(x):
            raise self._refuse(getattr(x, "__qualname__", None) or f"a {type(x).__name__}")

    def _note(self, x: Any) -> None:
        self.has_objects |= not self._recorder.is_born(x)
        self._recorder.deep(x)

    # ------------------------------------------------------------------ functions

    def _of_function(self, f: Any) -> None:
        recorder = self._recorder
        self.functions[f] = None
        self._holders.append(f)
        self._todo += note_defaults(recorder, f)
        for cell in f.__closure__ or ():
            if is_filled(cell):
                self._todo.append(
                    recorder.note(reads.ATTRIBUTE, cell, "cell_contents", cell.cell_contents)
                )
        for code in codes_in(f.__code__):
            self._names.update(dict.fromkeys(code.co_names))
            self.remakes |= "__init__" in code.co_names and "super" not in code.co_names
            if not _DYNAMIC.isdisjoint(code.co_names):
                raise self._refuse("any attribute of an object")
            for i in dis.get_instructions(code):
                if i.opname in _NAMED:
                    self._todo.append(self._global(f, i.argval))
                elif i.opname in ("IMPORT_NAME", "IMPORT_STAR"):
                    self._imported(i.argval)

    def _global(self, f: Any, name: str) -> Any:
        recorder, space = self._recorder, f.__globals__
        if (id(space), name) in recorder._globals:
            raise recorder.refusal(f"{f.__qualname__} may read {name}, which was assigned")
        if name in space:
            recorder.inputs.pop((reads.ITEM, id(space), name), None)
            return recorder.note(reads.ITEM, space, name, space[name])
        recorder.note(reads.ABSENT, space, name, MISSING)
        builtin = space.get("__builtins__", MISSING)
        found = vars(builtin) if isinstance(builtin, types.ModuleType) else builtin
        return found.get(name, MISSING) if isinstance(found, dict) else MISSING

    def _imported(self, name: Any) -> None:
        if name not in ("math", "torch", "operator", "itertools", "functools", "collections"):
            raise self._refuse(f"the module {name}")

    # ------------------------------------------------------------------ objects

    def _by_name(self, o: Any, names: list[str], *, is_first: bool) -> Iterator[Any]:
        """What names lead to from an object, a class or a module."""
        for name in names:
            yield from self._attribute(o, name)
        if is_first and isinstance(o, torch.nn.Module):
            for table in _HOOKS:
                yield from vars(o)[table].values()
            if is_library(type(o)):
                yield from o._modules.values()

    def _attribute(self, o: Any, name: str) -> Iterator[Any]:
        recorder = self._recorder
        if type(o) is types.ModuleType:
            own = vars(o)
            is_users = not _is_of_framework(o)
            if name in own:
                yield recorder.note(reads.ITEM, own, name, own[name]) if is_users else own[name]
            elif is_users:
                yield own.get("__getattr__")
            return
        if type(o) is Function:
            if o.__dict__:
                recorder.content(o.__dict__)
                yield o.__dict__.get(name)
            return
        is_class = isinstance(o, type)
        kind = o if is_class else type(o)
        found = recorder.lookup(kind, name) if not is_library(kind) else MISSING
        yield from _behind(found)
        if is_class:
            return
        attributes: Any = getattr(o, "__dict__", None)
        tables = [attributes] if type(attributes) is dict else []
        if isinstance(o, torch.nn.Module):
            tables += [attributes[table] for table in _REGISTRIES]
        for table in tables:
            if name in table:
                yield table[name]
        if type(found) is types.MemberDescriptorType:
            yield getattr(o, name, MISSING)

    def _special(self, kind: type) -> Iterator[Any]:
        """The special methods of a class of the user's."""
        for base in kind.__mro__:
            if is_library(base) and base is not kind:
                continue
            for name, f in vars(base).items():
                is_special = name.startswith("__") and name.endswith("__")
                if is_special and any(type(g) is Function for g in _behind(f)):
                    if self._is_left_out(name, f, base):
                        continue
                    self._recorder.lookup(kind, name)
                    yield from _behind(f)
        if issubclass(kind, torch.nn.Module):
            yield from _behind(self._recorder.lookup(kind, "forward"))

    def _is_left_out(self, name: str, f: Any, base: type) -> bool:
        if name in _MAKING:
            return not self.makes or _is_written(f, base)
        is_pythons = type(f) is Function and is_framework(f.__code__.co_filename)
        return is_pythons or name in _WRITING or name in _IN_PLACE or _is_written(f, base)


def note_defaults(recorder: Reader, f: Any) -> list[Any]:
    """The default values of a function, noted as read; none of them is an input of the program."""
    recorder.inputs.pop((reads.ATTRIBUTE, id(f), "__defaults__"), None)
    defaults, named = recorder.note_function(f)
    return [*(defaults or ()), *(named or {}).values()]


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code and those inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from codes_in(inner)


def _is_written(f: Any, base: type) -> bool:
    """Whether a method in a class was written by `dataclass` or `namedtuple`."""
    if isinstance(f, staticmethod):
        return "_fields" in vars(base) and bool(f.__func__.__code__.co_filename == "<string>")
    return type(f) is Function and is_generated(f, base)


def _behind(x: Any) -> tuple[Any, ...]:
    """What a descriptor of a class leads to."""
    if isinstance(x, _PROPERTIES):
        return (x.fget,)
    if isinstance(x, classmethod | staticmethod):
        return (x.__func__,)
    if isinstance(x, functools.cached_property):
        return (x.func,)
    return () if type(x) in _PLACES else (x,)


_PLACES: Final = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    type(vars(namedtuple("_Pair", "first"))["first"]),
)


def _is_object(x: Any) -> bool:
    """Whether an object is of a class of the user's, or a module of torch, or a record."""
    kind = type(x)
    if kind is types.SimpleNamespace or isinstance(x, torch.nn.Module):
        return True
    is_open = dataclasses.is_dataclass(kind) or not is_library(kind)
    return bool(kind.__flags__ & HEAP) and is_open and kind not in ATOMS


def _is_followed(x: Any) -> bool:
    """Whether an object is a function of the user's, or of a library."""
    return type(x) is Function and not is_framework(x.__code__.co_filename)


def _is_of_framework(m: types.ModuleType) -> bool:
    is_builtin = m.__name__ in sys.builtin_module_names
    return is_builtin or is_framework(getattr(m, "__file__", None) or "")


_Step: TypeAlias = "Callable[[Reach, Any], None]"
_BY_KIND: Final[dict[type, _Step]] = {
    types.MethodType: Reach._of_method,
    functools.partial: Reach._of_partial,
    weakref.ref: Reach._of_reference,
    types.ModuleType: Reach._of_module,
}
_BY_TEST: Final[tuple[tuple[Callable[[Any], bool], _Step], ...]] = (  # the first that holds
    (_is_followed, Reach._of_function),
    (lambda x: isinstance(x, _WRAPPING), Reach._of_wrapper),
    (lambda x: isinstance(x, type) and not is_library(x), Reach._of_class),
    (is_array, Reach._note),
    (lambda x: isinstance(x, CONTAINERS), Reach._of_container),
    (_is_object, Reach._of_object),
    (lambda _: True, Reach._of_other),
)
