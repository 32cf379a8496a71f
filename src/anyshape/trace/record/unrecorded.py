"""Functions of the user's without twins: what they name counts as read; none of them may write.

A function without source is known by its code alone. All that it names, and that functions name
which it names, is noted with everything that it holds. What it calls and changes is seen while it
runs (`surveyed_run.py`). The methods that `dataclass` generates have no source either; they write
to their object alone.
"""

from __future__ import annotations

import dataclasses
import dis
import inspect
import opcode
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.process_flag import read_flags, set_flags
from anyshape.trace.options import DONE
from anyshape.trace.record import read as reads
from anyshape.trace.record.atom import ATOMS, Function
from anyshape.trace.record.method_name import CHANGING
from anyshape.trace.record.passive import is_generated
from anyshape.trace.record.surveyed_run import SurveyedRun, may_be_users
from anyshape.trace.record.territory import is_twinned

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_GLOBAL_READS: Final = ("LOAD_GLOBAL", "LOAD_NAME")
_COROUTINES: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_GLOBALS: Final = frozenset(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_CHANGING: Final = frozenset(
    ("setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "exec", "eval")
)
_ITEMS: Final = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "DELETE_SUBSCR"))
_TO_CLASSES: Final = frozenset(("type", "__class__", "setattr", "delattr"))  # ways to a class


def call_unrecorded(recorder: Reader, f: Any, /, *args: Any, **named: Any) -> Any:
    """Call a function without a twin: all that its arguments hold counts as read."""
    if f.__code__.co_flags & _COROUTINES:
        raise recorder.refusal(f"{f.__qualname__} is a coroutine")
    owner = _owner(f, args)
    if owner is not None and f.__name__ == "__init__" and dataclasses.is_dataclass(owner):
        return _init_dataclass(recorder, owner, f, args, named)
    known = survey(recorder, f, (*args, *named.values()))
    given, flags = [recorder.deep(a) for a in args], read_flags()
    try:
        done = recorder.options.effects == DONE
        with SurveyedRun(recorder, f, known, survey, writes=done):
            result = f(*given, **{k: recorder.deep(a) for k, a in named.items()})
        if read_flags() != flags:
            set_flags(flags)
            raise recorder.refusal(f"{f.__qualname__} changes the state of the process")
        return result
    finally:
        if not _TO_CLASSES.isdisjoint(f.__code__.co_names):
            recorder.forget_classes()


def survey(
    recorder: Reader, f: Any, args: tuple[Any, ...] = (), *, runs: bool = False
) -> set[types.CodeType]:
    """Note what a function without a twin may read: globals that it names, and its cells.

    The result are the codes of the functions that were looked at. Before one of them `runs`, what
    it may change is judged by its instructions, as it might catch a later refusal.
    """
    todo, seen = [f], set()
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
        if recorder.options.effects != DONE and _owner(f, args) is None:
            held = [x for x in (*values, *args) if _can_change(recorder, x)]
            _need_reader(recorder, f, has_owners=bool(held), runs=runs)
    return {code for f in seen for code in (f.__code__, *_inner(f.__code__))}


def _defaults(recorder: Reader, f: Any) -> list[Any]:
    """The default values of a function, noted as read; none of them is an input of the program."""
    recorder.inputs.pop((reads.ATTRIBUTE, id(f), "__defaults__"), None)
    defaults, named = recorder.note_function(f)
    return [*(defaults or ()), *(named or {}).values()]


def _named(recorder: Reader, f: Any) -> list[Any]:
    """The names outside a function that it refers to, noted as read."""
    found = []
    for code in (f.__code__, *_inner(f.__code__)):
        for name in {i.argval for i in dis.get_instructions(code) if i.opname in _GLOBAL_READS}:
            if (id(f.__globals__), name) in recorder._globals:
                raise recorder.refusal(f"{f.__qualname__} may read {name}, which was assigned")
            if name in f.__globals__:
                recorder.inputs.pop((reads.ITEM, id(f.__globals__), name), None)
                value = f.__globals__[name]
                found.append(recorder.note(reads.ITEM, f.__globals__, name, value))
    for cell in f.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        found.append(recorder.note(reads.ATTRIBUTE, cell, "cell_contents", value))
    return found


def _inner(code: types.CodeType) -> list[types.CodeType]:
    """The codes of the functions that a function defines, and of those that these define."""
    own = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return own + [c for outer in own for c in _inner(outer)]


def _has(code: types.CodeType, operations: frozenset[int]) -> bool:
    return not operations.isdisjoint(code.co_code[::2])


def _can_change(recorder: Reader, x: Any) -> bool:
    """Whether an object is outside, and it, or what is reached from it, may be changed."""
    if type(x) in ATOMS or isinstance(x, torch.Tensor) or recorder.is_born(x):
        return False
    is_code = isinstance(x, type | types.ModuleType | Function)
    return may_be_users(x) if is_code else True


def _need_reader(recorder: Reader, f: Any, *, has_owners: bool, runs: bool) -> None:
    """Refuse a function that assigns variables from around it, or may call what changes objects."""
    for code in (f.__code__, *_inner(f.__code__)):
        stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
        writes = _has(code, _GLOBALS) or not stored.isdisjoint(f.__code__.co_freevars)
        changes = not _CHANGING.isdisjoint(code.co_names)
        if not runs:
            changes |= _has(code, _ITEMS) or not CHANGING.isdisjoint(code.co_names)
        if writes or (has_owners and changes):
            raise recorder.refusal(f"{f.__qualname__} has no twin, and may change something")


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
