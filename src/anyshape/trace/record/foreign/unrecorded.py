"""Functions of the user's without twins: what they name counts as read; none of them may write.

A function without source is known by its code alone. All that it names, and that functions name
which it names, is noted with everything that it holds; so are the methods that its names lead to
from there. None of them may have an instruction that changes something outside. The methods that
`dataclass` generates have no source either; they write to their object alone.
"""

from __future__ import annotations

import dataclasses
import dis
import inspect
import opcode
import sys
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import is_framework
from anyshape.torch_compat.process_flag import read_flags, set_flags
from anyshape.trace.options import DONE
from anyshape.trace.record.atom import ATOMS, Function
from anyshape.trace.record.container.method_name import CHANGING
from anyshape.trace.record.foreign.passive import is_generated
from anyshape.trace.record.foreign.territory import is_library, is_twinned
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_COROUTINES: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_ATTRIBUTES: Final = frozenset(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_GLOBALS: Final = frozenset(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_ITEMS: Final = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "DELETE_SUBSCR"))
_STORES: Final = _ATTRIBUTES | _ITEMS
_GLOBAL_READS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
_CHANGING: Final = CHANGING.union(
    ("setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "exec", "eval")
)
_CALLED: Final = ("__call__", "forward")  # what calls of an object run
_MOST: Final = 1000  # objects that are looked at for one function
_TO_CLASSES: Final = frozenset(("type", "__class__", "setattr", "delattr"))  # ways to a class


def call_unrecorded(recorder: Reader, f: Any, /, *args: Any, **named: Any) -> Any:
    """Call a function without a twin: all that its arguments hold counts as read."""
    if f.__code__.co_flags & _COROUTINES:
        raise recorder.refusal(f"{f.__qualname__} is a coroutine")
    owner = _owner(f, args)
    if owner is not None and f.__name__ == "__init__" and dataclasses.is_dataclass(owner):
        return _init_dataclass(recorder, owner, f, args, named)
    survey(recorder, f, (*args, *named.values()))
    if recorder.options.effects != DONE and _has(f.__code__, _ATTRIBUTES):
        others = [a for a in args[:1] if type(a) not in ATOMS and not recorder.is_born(a)]
        if others and not isinstance(others[0], torch.Tensor):
            raise recorder.refusal(f"{f.__qualname__} has no source, and assigns something")
    given, flags = [recorder.deep(a) for a in args], read_flags()
    try:
        result = f(*given, **{k: recorder.deep(a) for k, a in named.items()})
        if read_flags() != flags:
            set_flags(flags)
            raise recorder.refusal(f"{f.__qualname__} changes the state of the process")
        return result
    finally:
        if not _TO_CLASSES.isdisjoint(f.__code__.co_names):
            recorder.forget_classes()


def survey(recorder: Reader, f: Any, args: tuple[Any, ...] = ()) -> None:
    """Note what a function without a twin may read: globals that it names, and its cells."""
    todo, seen = [f], set()
    owned: set[Any] = set()  # methods of objects from outside
    while todo:
        f = todo.pop()
        if f in seen:
            continue
        seen.add(f)
        values = [*_defaults(recorder, f), *_named(recorder, f)]
        for value in values:
            recorder.deep(value)
            if type(value) is Function and is_twinned(value.__code__):
                todo.append(value)
        methods = _methods(recorder, f.__code__, [*values, *args])
        owned |= set(methods)
        todo += methods
        if recorder.options.effects != DONE and _owner(f, args) is None:
            held = [x for x in (*values, *args) if _can_change(recorder, x)]
            _need_reader(recorder, f, has_owners=bool(held) or f in owned)


def _methods(recorder: Reader, code: types.CodeType, objects: list[Any]) -> list[Any]:
    """The functions of the user's that a code may reach from objects by the names in it."""
    names = {name for c in (code, *_inner(code)) for name in c.co_names}
    found: list[Any] = []
    todo, seen = list(objects), set[int]()
    while todo:
        o = todo.pop()
        if len(seen) > _MOST:
            raise recorder.refusal(f"{code.co_name} has no source, and reaches many objects")
        if id(o) in seen or type(o) in ATOMS or recorder.is_born(o) or not _can_change(recorder, o):
            continue
        seen.add(id(o))
        for name in (*names, *_CALLED):
            x = inspect.getattr_static(o, name, None)
            functions = [g for g in _behind(x) if not is_framework(g.__code__.co_filename)]
            found += [g for g in functions if is_twinned(g.__code__)]
            if not functions and name in names:
                todo.append(x)
    return found


def _behind(x: Any) -> list[types.FunctionType]:
    """The functions of a method, a class method or a property."""
    ways = [x.fget, x.fset] if isinstance(x, property) else [x]
    if isinstance(x, classmethod | staticmethod | types.MethodType):
        ways = [x.__func__]
    return [f for f in ways if type(f) is Function]


def _defaults(recorder: Reader, f: Any) -> list[Any]:
    """The default values of a function, noted as read; none of them is an input of the program."""
    recorder.inputs.pop((reads.ATTRIBUTE, id(f), "__defaults__"), None)
    defaults, named = recorder.note_function(f)
    return [*(defaults or ()), *(named or {}).values()]


def _named(recorder: Reader, f: Any) -> list[Any]:
    """The names outside a function that it refers to, noted as read."""
    found, todo = [], [f.__code__]
    while todo:
        code = todo.pop()
        for name in {i.argval for i in dis.get_instructions(code) if i.opname in _GLOBAL_READS}:
            if (id(f.__globals__), name) in recorder._globals:
                raise recorder.refusal(f"{f.__qualname__} may read {name}, which was assigned")
            if name in f.__globals__:
                recorder.inputs.pop((reads.ITEM, id(f.__globals__), name), None)
                value = f.__globals__[name]
                found.append(recorder.note(reads.ITEM, f.__globals__, name, value))
        todo += _inner(code)
    for cell in f.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        found.append(recorder.note(reads.ATTRIBUTE, cell, "cell_contents", value))
    return found


def _inner(code: types.CodeType) -> list[types.CodeType]:
    return [c for c in code.co_consts if isinstance(c, types.CodeType)]


def _has(code: types.CodeType, operations: frozenset[int]) -> bool:
    return not operations.isdisjoint(code.co_code[::2])


def _can_change(recorder: Reader, x: Any) -> bool:
    """Whether an object is outside, and it, or what is reached from it, may be changed."""
    if type(x) in ATOMS or isinstance(x, torch.Tensor) or recorder.is_born(x):
        return False
    if isinstance(x, Function):
        return not is_framework(x.__code__.co_filename)
    return not is_library(x) if isinstance(x, type) else not _is_of_framework(x)


def _is_of_framework(x: Any) -> bool:
    if not isinstance(x, types.ModuleType):
        return False
    is_builtin = x.__name__ in sys.builtin_module_names
    return is_builtin or is_framework(getattr(x, "__file__", None) or "")


def _need_reader(recorder: Reader, f: Any, *, has_owners: bool) -> None:
    """Refuse a function that may write to what it did not make."""
    todo = [f.__code__]
    while todo:
        code = todo.pop()
        stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
        writes = _has(code, _GLOBALS) or not stored.isdisjoint(f.__code__.co_freevars)
        changes = _has(code, _STORES) or not _CHANGING.isdisjoint(code.co_names)
        if writes or (has_owners and changes):
            raise recorder.refusal(f"{f.__qualname__} has no twin, and may change something")
        todo += _inner(code)


# ---------------------------------------------------------------------- dataclasses


def _owner(f: Any, args: tuple[Any, ...]) -> Any:
    """The class of the first argument that a function was generated for; None if there is none."""
    classes = type(args[0]).__mro__ if args else ()
    return next((cls for cls in classes if is_generated(f, cls)), None)


def _init_dataclass(
    recorder: Reader, cls: Any, f: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Repeat the generated `__init__` with twins of factories and of `__post_init__`."""
    o, calls = args[0], recorder.hooks.calls
    recorder.note(reads.ATTRIBUTE, f, "__code__", f.__code__)
    _defaults(recorder, f)
    try:
        given = _given(f, args, named)
    except TypeError:
        f(*args, **named)  # raises
        raise
    frozen = cls.__dataclass_params__.frozen
    assign = calls.attributes.assign if frozen else recorder.hooks.set_attribute
    fields = dataclasses.fields(cls)
    for field in fields:
        if field.init and field.name in given:
            assign(o, field.name, given[field.name])
        elif field.default_factory is not dataclasses.MISSING:
            assign(o, field.name, calls.ready(recorder.outside(field.default_factory))())
        elif field.init:
            assign(o, field.name, _default_by_name(f)[field.name])
        elif field.default is not dataclasses.MISSING and "__slots__" in vars(cls):
            assign(o, field.name, field.default)
    if hasattr(type(o), "__post_init__"):
        own = {field.name for field in fields}
        only_passed = [name for name in _parameters(f.__code__)[1:] if name not in own]
        values = {**_default_by_name(f), **given} if only_passed else given
        calls.method(o, "__post_init__")(*[values[name] for name in only_passed])


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    """The names of the parameters of a function that takes no others."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _default_by_name(f: Any) -> dict[str, Any]:
    """The default values of a function by name."""
    values = f.__defaults__ or ()
    names = f.__code__.co_varnames[f.__code__.co_argcount - len(values) : f.__code__.co_argcount]
    return {**dict(zip(names, values, strict=True)), **(f.__kwdefaults__ or {})}


def _given(f: Any, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, without those that it leaves to their defaults.

    Python binds them, to a function with the parameters of `f` that gives them back.
    """
    code = f.__code__
    binder = _binders.get(code)
    if binder is None:
        names = _parameters(code)
        first, rest = names[: code.co_argcount], names[code.co_argcount :]
        listed = ", ".join((*first, *(("*", *rest) if rest else ())))
        kept = ", ".join(f"{n!r}: {n}" for n in names)
        binder = _binders[code] = eval(f"lambda {listed}: {{{kept}}}")
    defaults = (_LEFT_OUT,) * len(f.__defaults__ or ())
    bound = Function(binder.__code__, {}, f.__name__, defaults)
    bound.__kwdefaults__ = dict.fromkeys(f.__kwdefaults__ or (), _LEFT_OUT)
    return {n: x for n, x in bound(*args, **named).items() if x is not _LEFT_OUT}


_binders: dict[types.CodeType, Any] = {}
_LEFT_OUT: Final = object()
