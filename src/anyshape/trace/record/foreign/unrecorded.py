"""Functions of the user's without twins: what they name counts as read; none of them may write.

A function without source is known by its code alone. What it may reach (`reach.py`) is noted as
read, and none of the functions that it may run may have an instruction that changes something
outside. The methods that `dataclass` generates have no source either; they write to their object
alone.
"""

from __future__ import annotations

import dataclasses
import dis
import inspect
import opcode
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.torch_compat.process_flag import read_flags, set_flags
from anyshape.trace.options import DONE
from anyshape.trace.record.container.method_name import CHANGING
from anyshape.trace.record.foreign.passive import is_generated
from anyshape.trace.record.foreign.reach import Reach, codes_in, note_defaults
from anyshape.trace.record.object_kind import ATOMS, Function
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    import types

    from anyshape.trace.record.reader import Reader

_COROUTINES: Final = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_ATTRIBUTES: Final = frozenset(opcode.opmap[name] for name in ("STORE_ATTR", "DELETE_ATTR"))
_GLOBALS: Final = frozenset(opcode.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL"))
_ITEMS: Final = frozenset(opcode.opmap[name] for name in ("STORE_SUBSCR", "DELETE_SUBSCR"))
_STORES: Final = _ATTRIBUTES | _ITEMS
_CHANGING: Final = CHANGING.union(
    ("setattr", "delattr", "__setattr__", "__delattr__", "__dict__", "vars", "exec", "eval")
)
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
    """Note what a function without a twin may read; refuse one that may write."""
    reach = Reach(recorder, f).close(args)
    if reach.remakes:
        raise recorder.refusal(f"{f.__qualname__} has no source, and calls __init__ by name")
    if recorder.options.effects == DONE:
        return
    for g in reach.functions:
        if _owner(g, args) is None:
            _need_reader(recorder, g, has_objects=reach.has_objects)


def _has(code: types.CodeType, operations: frozenset[int]) -> bool:
    return not operations.isdisjoint(code.co_code[::2])


def _need_reader(recorder: Reader, f: Any, *, has_objects: bool) -> None:
    """Refuse a function that may write to what it did not make."""
    for code in codes_in(f.__code__):
        stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
        writes = _has(code, _GLOBALS) or not stored.isdisjoint(f.__code__.co_freevars)
        changes = _stores(code) or not _CHANGING.isdisjoint(code.co_names)
        if writes or (has_objects and changes):
            raise recorder.refusal(
                f"{f.__qualname__} cannot be rewritten, as code without source, and may change"
                " something"
            )


def _stores(code: types.CodeType) -> bool:
    """Whether a code assigns items or attributes, but for those that an `__init__` gives itself."""
    if code.co_name != "__init__" or not code.co_argcount or _has(code, _ITEMS):
        return _has(code, _STORES)
    own, last = code.co_varnames[0], tuple[Any, ...]()
    for i in dis.get_instructions(code):
        named = i.argval if type(i.argval) is tuple else (i.argval,)
        if i.opname.startswith("STORE_FAST") and own in named:
            return True
        if i.opcode in _ATTRIBUTES and (i.is_jump_target or last[-1:] != (own,)):
            return True
        last = named if i.opname.startswith("LOAD_FAST") else ()
    return False


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
    note_defaults(recorder, f)
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
