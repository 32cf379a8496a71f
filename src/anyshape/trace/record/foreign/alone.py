"""Objects that code without a twin has made, or copies.

The former are known by that nobody else refers to them.

Such an object was made by the call that gave it, or is a temporary of it, and so are the parts that
only it refers to. What anybody else refers to, such as an object of a cache, is not.
"""

from __future__ import annotations

import gc
import sys
import types
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.trace import tree
from anyshape.trace.record.depth import parts_of
from anyshape.trace.record.foreign.territory import is_twinned
from anyshape.trace.record.object_kind import ATOMS, COLLECTED, CONTAINERS, HEAP

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_APART: Final = (torch.Tensor, torch.nn.Module, type, types.FunctionType, types.ModuleType)
_DEPTH: Final = 8
_COPIERS: Final = ("__deepcopy__", "__reduce_ex__", "__reduce__", "__getstate__", "__setstate__")


def born_alone(recorder: Reader, held: list[Any]) -> None:
    """Note that the trace made the only item of a list, if the list alone refers to it."""
    if _is_object(held[0]) and sys.getrefcount(held[0]) == 2:
        _born(recorder, held[0], _DEPTH)


def _born(recorder: Reader, x: Any, depth: int) -> None:
    if recorder.is_outside(x):
        return
    recorder.born(x)
    parts = _parts(x) if depth else []
    for i in range(len(parts)):
        if _is_object(parts[i]) and sys.getrefcount(parts[i]) == 3:
            _born(recorder, parts[i], depth - 1)


def _is_object(x: Any) -> bool:
    """Whether something may be changed, or is a view of it."""
    kind = type(x)
    if kind is types.MappingProxyType:
        return True
    if kind in ATOMS or isinstance(x, _APART):
        return False
    return isinstance(x, CONTAINERS) or bool(kind.__flags__ & (HEAP | COLLECTED))


def need_copied_by_python(recorder: Reader, x: Any, *, deeply: bool = True) -> None:
    """Refuse an object that is copied by methods of the user's; `deeply`, one with such parts."""
    todo, seen = [x], set()
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for name in _COPIERS:
            method = getattr(type(part), name, None)
            if isinstance(method, types.FunctionType) and is_twinned(method.__code__):
                raise recorder.refusal(f"{name} of a {type(part).__name__} is called")
        todo += parts_of(recorder, part) if deeply else ()


def _parts(x: Any) -> list[Any]:
    if type(x) is types.MappingProxyType:
        return list(gc.get_referents(x))
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, CONTAINERS):
        return list(x)
    return list(tree.members(x).parts)
