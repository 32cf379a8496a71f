"""All that an object holds, noted as read: for code that may look at any of it, unseen."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace.record.container.recipe import ITERATORS
from anyshape.trace.record.foreign.held_call import HELD, need_own_in
from anyshape.trace.record.object_kind import ATOMS, CONTAINERS, HEAP, Function
from anyshape.trace.record.read import read as reads
from anyshape.trace.record.read.read import MISSING

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_MOST: Final = 100_000  # parts of one object


def deep(recorder: Reader, x: Any) -> Any:
    """Note all that an object and its parts hold; gives what the trace sees of it."""
    if type(x) in ITERATORS and not recorder.is_born(x):
        raise recorder.refusal("an iterator from outside is used")
    seen = recorder.shadows.get(id(x), x)
    todo, visited = parts_of(recorder, x), {id(x)}
    if seen is not x:
        todo = [*seen.keys(), *seen.values()] if isinstance(seen, dict) else list(seen)
    while todo:
        part = todo.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        if id(part) in recorder.shadows:
            raise recorder.refusal(f"a {type(x).__name__} with changed parts is used elsewhere")
        if len(visited) > _MOST:
            raise recorder.refusal(f"a {type(x).__name__} of many parts is used by other code")
        todo += parts_of(recorder, part)
    return seen


def parts_of(recorder: Reader, x: Any) -> list[Any]:
    """The content of an object, noted as read: its items, its attributes, its slots."""
    kind = type(x)
    if kind in HELD:
        return HELD[kind](recorder, x)
    if kind in ATOMS or isinstance(x, torch.Tensor | type):
        return []
    if kind is Function or kind is types.ModuleType:
        return []
    if isinstance(x, CONTAINERS):
        recorder.content(x)  # nothing, if it was born: its parts may be outside
        return [*x.keys(), *x.values()] if isinstance(x, dict) else list(x)
    slots = (
        [name for base in kind.__mro__ for name in _slots_of(base)] if kind.__flags__ & HEAP else []
    )
    if recorder.is_born(x):
        own = getattr(x, "__dict__", None)
        held = [getattr(x, name) for name in slots if hasattr(x, name)]
        held += own.values() if type(own) is dict else ()
        need_own_in(recorder, x, held)
        return held
    if id(x) in recorder.changed:
        raise recorder.refusal(f"a changed {kind.__name__} is used by code that is not recorded")
    recorder.kind(x)
    held = []
    if reads.is_array(x):
        recorder.array(x)
        held += x.flat if x.dtype == object else ()
    for name in slots:
        value = getattr(x, name, MISSING)
        recorder.note_value(reads.ATTRIBUTE, x, name, value)
        held += [] if value is MISSING else [value]
    own = getattr(x, "__dict__", None)
    if type(own) is dict:
        recorder.owned(own, x)
        recorder.content(own)
        held += own.values()
    need_own_in(recorder, x, held)
    return held


def _slots_of(base: type) -> list[str]:
    """The attributes that a class of the user's keeps in slots."""
    if not base.__flags__ & HEAP:
        return []
    return [name for name, d in vars(base).items() if type(d) is types.MemberDescriptorType]
