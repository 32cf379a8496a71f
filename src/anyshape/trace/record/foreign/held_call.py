"""Callables that an object holds, which code without a twin may call: what they lead to.

A method in C reads its owner, and a partial function what it was given: both are parts of the
object that holds them. A method that changes its owner, a function that has an effect, and a
function of the user's in an object of a library would run unrecorded, and are refused.
"""

from __future__ import annotations

import functools
import gc
import re
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.env.site import in_package
from anyshape.trace.record.builtin.library import (
    ADVANCING,
    ARRAY_CHANGES,
    EFFECTFUL,
    HARMLESS,
    VARYING,
)
from anyshape.trace.record.container.method_name import CHANGING
from anyshape.trace.record.container.recipe import ITERATORS
from anyshape.trace.record.foreign.lent import is_of_user, may_reach
from anyshape.trace.record.foreign.territory import is_left_as_is
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, LRU
from anyshape.trace.record.read.read import is_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.trace.record.reader import Reader

_METHODS: Final = (types.BuiltinFunctionType, types.MethodWrapperType)
_READ_ONLY: Final = (types.MappingProxyType, re.Pattern, re.Match)
_WRITES: Final = CHANGING | ARRAY_CHANGES | ADVANCING
_ACTING: Final = frozenset(
    ("print", "open", "input", "exec", "eval", "compile", "breakpoint", "globals", "setattr",
     "delattr", "next", "__import__")
)  # fmt: skip


def held_by_method(recorder: Reader, f: Any) -> list[Any]:
    """The owner of a method in C; nothing, for a function of a module that only computes."""
    owner = f.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        home = str(getattr(owner, "__name__", None) or f.__module__)
        acts = home == "builtins" and f.__name__ in _ACTING
        if acts or home in VARYING or (home in EFFECTFUL and f.__name__ not in HARMLESS):
            raise _called(recorder, f.__name__)
        return []
    if isinstance(owner, type | torch.Tensor) or (type(owner) in ATOMS):
        return []
    is_known = isinstance(owner, (*CONTAINERS, *_READ_ONLY)) or is_array(owner)
    is_read = is_known and f.__name__ not in _WRITES and type(owner) not in ITERATORS
    if not is_read and not recorder.may_write(owner):
        raise _called(recorder, f"{type(owner).__name__}.{f.__name__}")
    return [owner]


def _of_partial(recorder: Reader, f: functools.partial[Any]) -> list[Any]:
    need_own(recorder, (f.func, *f.args, *f.keywords.values()))
    return [f.func, f.args, f.keywords]


def _of_cached(recorder: Reader, f: Any) -> list[Any]:
    need_own(recorder, (f.__wrapped__,))
    return [f.__wrapped__]


HELD: Final[dict[type, Callable[[Reader, Any], list[Any]]]] = {
    **dict.fromkeys(_METHODS, held_by_method),
    functools.partial: _of_partial,
    LRU: _of_cached,
}
"""What callables of a kind lead to."""


def leads_to_user(f: Any) -> bool:
    """Whether a callable is a function of the user's, or one that stands for it."""
    while type(f) is functools.partial:
        f = f.func
    return is_of_user(f.__wrapped__ if type(f) is LRU else f)


def need_own(recorder: Reader, held: Iterable[Any]) -> None:
    """Refuse functions of the user's that code without a twin may call."""
    for f in held:
        if leads_to_user(f):
            raise _called(recorder, getattr(f, "__qualname__", "a function"))


def need_own_in(recorder: Reader, x: Any, held: Iterable[Any]) -> None:
    """The same of what an object has as attributes, if its methods are code without twins."""
    if is_left_as_is(type(x)) and not isinstance(x, torch.nn.Module):
        need_own(recorder, held)


def survey_callee(recorder: Reader, f: Any) -> None:
    """Note what an object without a twin, that is called, may call or read."""
    if in_package(type(f).__module__, "anyshape"):  # which calls twins
        return
    recorder.deep(f)
    if not type(f).__flags__ & HEAP:  # what it holds has no names
        held = [x for x in gc.get_referents(f) if not isinstance(x, type) and may_reach(x)]
        need_own(recorder, held)
        for x in held:
            recorder.deep(x)


def _called(recorder: Reader, name: str) -> Exception:
    return recorder.refusal(f"{name} may be called by code that is not recorded")
