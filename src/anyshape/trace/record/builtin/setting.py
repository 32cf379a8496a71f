"""Settings of the process, such as which kernels torch chooses, that a program reads and makes.

The functions in C behind them (`torch_compat/process_flag.py`) have substitutes: one that sets is a
call of the graph, and is not called while the program is traced; one that gets finds what the
program has set, and else what the process has, which is a condition. The Python functions of torch
that end in them are recognized by their code, and run as twins.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package, is_torch
from anyshape.symbolic.sym_bool import SymBool
from anyshape.torch_compat.process_flag import (
    AUTOCAST_SETTERS,
    BLIND_SETTERS,
    FLAG_GETTERS,
    FLAG_SETTERS,
    GETTERS,
    MODE_GETTERS,
    PLACES,
    Place,
    places_set,
)
from anyshape.torch_compat.thread_state import set_grad_enabled
from anyshape.trace.mode.execution_modes import set_flag
from anyshape.trace.mode.mode_recorder import MANAGERS
from anyshape.trace.record.foreign.territory import twin_always
from anyshape.trace.record.read import read as reads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.trace.record.recorder import Recorder

_DEPTH: Final = 4  # of functions that call functions
_MOST: Final = 200  # functions that are looked at for one
_METHODS: Final = ("__new__", "__init__", "__enter__", "__exit__", "__call__")
_SET: Final = frozenset((*FLAG_SETTERS, *BLIND_SETTERS))
_known: dict[Any, bool] = {}  # whether a function is about settings, by its code; or a class


def setting_calls() -> Iterator[tuple[Any, Any]]:
    """Pairs of a function that sets or gets and its substitute, which gets the recorder first."""
    for name, f in FLAG_SETTERS.items():
        yield f, functools.partial(_put, name)
    for name, f in FLAG_GETTERS.items():
        yield f, functools.partial(_asked, name)
    for name, f in BLIND_SETTERS.items():
        yield f, functools.partial(_blind, name)
    yield torch.set_grad_enabled, _set_grad
    for name, f in MODE_GETTERS.items():
        yield f, functools.partial(_asked, name)
    yield torch.get_default_device, _default_device
    yield set_grad_enabled, lambda recorder, mode: recorder.tracer.set_grad_plainly(mode)
    for f in AUTOCAST_SETTERS:
        yield f, functools.partial(_set_autocast, f)
    yield torch.clear_autocast_cache, lambda recorder: recorder.tracer.clear_casts()
    for manager in MANAGERS:
        yield manager.__enter__, functools.partial(_enter, manager.__enter__)
        yield manager.__exit__, functools.partial(_leave, manager.__exit__)
    for f in (torch.autocast_increment_nesting, torch.autocast_decrement_nesting):
        yield f, functools.partial(_blind, f.__name__)


def _set_grad(recorder: Recorder, mode: Any) -> Any:
    return recorder.born(recorder.tracer.set_grad(bool(mode) if type(mode) is SymBool else mode))


def _enter(enter: Any, recorder: Recorder, manager: Any) -> Any:
    return recorder.tracer.enter_block(enter, _owner(manager))


def _leave(leave: Any, recorder: Recorder, manager: Any, *error: Any) -> Any:
    return recorder.tracer.leave_block(leave, _owner(manager), *error)


def _owner(manager: Any) -> Any:
    """The manager itself, where its method was called by name."""
    return manager.__self__ if type(manager) is types.MethodType else manager


def _set_autocast(setter: Any, recorder: Recorder, *args: Any) -> None:
    # the program may set a dtype to what it is
    for device, dtype in recorder.tracer.outer_dtypes.items():
        recorder.note(reads.CALL, torch.get_autocast_dtype, (device,), dtype)
    recorder.tracer.set_part_of_autocast(setter, *args)


def _put(name: str, recorder: Recorder, *args: Any, **named: Any) -> None:
    args = tuple([bool(a) if type(a) is SymBool else a for a in args])
    tracer = recorder.tracer
    tracer.put_flags(places_set(name, args, named))
    tracer.emit(set_flag, (name, args, named))


def _asked(name: str, recorder: Recorder, *args: Any, **named: Any) -> Any:
    if args or named:
        GETTERS[name](*args, **named)  # raises for what no setting can be asked with
    args = (*args, *named.values())
    place, flags = Place(name, args), recorder.tracer.flags
    if place in flags:
        is_list = type(GETTERS[name](*args)) is list
        return recorder.born(list(flags[place])) if is_list else flags[place]
    if place.is_coupled and any(other.is_coupled for other in flags):
        raise recorder.refusal(f"{name}() is called after a setting that may change what it gives")
    before = recorder.tracer.caller_flags  # of a call of which a part has run
    if before is not None and place in PLACES:
        value = before[PLACES.index(place)]
    else:
        value = GETTERS[name](*args)
    return _noted(recorder, place, value)


def _noted(recorder: Recorder, place: Place, value: Any) -> Any:
    """A setting or mode of the caller is a condition, and one that the program has made is not."""
    if not recorder.tracer.is_callers(place):
        return value
    recorder.tracer.has_read_grad |= place.getter == "is_grad_enabled"
    if recorder.is_refusing:
        recorder.tracer.read_places[place] = value
    return recorder.note(reads.CALL, GETTERS[place.getter], place.args, value)


def _default_device(recorder: Recorder) -> Any:
    found, tracer = torch.get_default_device(), recorder.tracer
    if found != tracer.device:  # of a block of the program
        return found
    tracer.asked_device = True
    return recorder.note(reads.CALL, torch.get_default_device, (), found)


def _blind(name: str, recorder: Recorder, *_: Any, **__: Any) -> None:
    raise recorder.refusal(f"{name}() is called, which changes the state of the process")


# ---------------------------------------------------------------------- whose code


def is_setting(f: Any) -> bool:
    """Whether a function or class of torch is about settings of the process: it runs as a twin."""
    marked = [_is_marked(g) for g in _functions_of(f)]  # all of them
    return any(marked)


def may_set(f: Any) -> bool:
    """Whether a function of the user's names something that makes a setting."""
    return isinstance(f, types.FunctionType) and _sets(f)


def _is_marked(f: types.FunctionType) -> bool:
    code = f.__code__
    found = _known.get(code)
    if found is None:
        names = _names(code)
        found = _known[code] = not names.isdisjoint(FLAG_GETTERS) or _sets(f)
        if found:
            twin_always(code)
    return found


def _functions_of(x: Any) -> Iterator[types.FunctionType]:
    """The Python functions of torch that a call of something may run first."""
    if isinstance(x, types.MethodType):
        x = x.__func__
    if isinstance(x, type):
        if in_package(x.__module__, "torch"):
            for name in _METHODS:
                found = getattr(x, name, None)
                yield from _functions_of(found) if not isinstance(found, type) else ()
    elif isinstance(x, types.FunctionType) and is_torch(x.__code__.co_filename):
        yield x


def _sets(f: types.FunctionType) -> bool:
    """Whether a function, or one that it calls, names a function in C that sets something."""
    functions, seen = [f], {f.__code__}
    for _ in range(_DEPTH):
        if any(not _SET.isdisjoint(_names(g.__code__)) for g in functions):
            return True
        below = [h for g in functions for h in _called(g)]
        functions = list({h.__code__: h for h in below if h.__code__ not in seen}.values())
        seen.update([h.__code__ for h in functions])
        if len(seen) > _MOST:
            break
    return False


def _names(code: types.CodeType) -> set[str]:
    """The names in a function and in those inside it."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found |= _names(inner)
    return found


def _called(f: types.FunctionType) -> Iterator[types.FunctionType]:
    """The functions of torch that a function names: in its module, in modules, in its closure."""
    names = _names(f.__code__)
    spaces: list[dict[str, Any]] = [f.__globals__]
    for space in spaces:  # which grows
        for name in names:
            x = space.get(name)
            if isinstance(x, types.ModuleType):
                is_new = all(vars(x) is not known for known in spaces)
                if is_new and in_package(x.__name__, "torch"):
                    spaces.append(vars(x))
            else:
                yield from _functions_of(x)
    for cell in f.__closure__ or ():
        try:
            yield from _functions_of(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
