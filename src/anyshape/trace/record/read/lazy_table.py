"""Tables that a library fills in the first call that needs them: registries, caches, lazy globals.

Where effects are refused, such a write is made for good, as a first call of eager execution makes
it, and the program is traced again: if it is one of a memo, the second trace reads the table and
writes nothing. If that one is refused, too, the write is undone.

A write counts as such if code of an installed package makes it, if it only adds an entry, or gives
a value to what was missing or None, and if nothing of the trace is in the entry.
"""

from __future__ import annotations

import os
import sysconfig
import types
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from anyshape.trace.record.object_kind import ATOMS, SYMBOLIC
from anyshape.trace.record.read.read import MISSING
from anyshape.trace.twin.twin import is_twin

if TYPE_CHECKING:
    from anyshape.env.site import Site

_INSTALLED: Final = tuple(
    {sysconfig.get_paths()[name] + os.sep for name in ("purelib", "platlib", "stdlib")}
)
_WHOLE: Final = (type, types.ModuleType, types.BuiltinFunctionType, torch.dtype, torch.device)
_MANY: Final = 1000  # objects in an entry


class Fill(NamedTuple):
    """An entry of a dict: of a table, of the attributes of an object, or of a module's globals."""

    table: dict[Any, Any]
    key: Any
    value: Any
    before: Any

    def apply(self) -> None:
        """Write the entry."""
        dict.__setitem__(self.table, self.key, self.value)

    def undo(self) -> None:
        """Make the table what it was."""
        if self.before is MISSING:
            dict.pop(self.table, self.key, None)
        else:
            dict.__setitem__(self.table, self.key, self.before)


def fill(table: Any, key: Any, value: Any, site: Site | None) -> Fill | None:
    """The write of an entry if it may be one of a memo."""
    if type(table) is not dict or site is None or not site.code.co_filename.startswith(_INSTALLED):
        return None
    before = table.get(key, MISSING)
    is_new = before is MISSING or before is None
    return Fill(table, key, value, before) if is_new and _is_free((key, value)) else None


def fills(real: Any, changed: Any, site: Site | None) -> list[Fill | None]:
    """The entries that a dict has got."""
    if type(real) is not dict or any(key not in changed for key in real):
        return [None]
    new = [key for key, value in changed.items() if real.get(key, MISSING) is not value]
    return [fill(real, key, changed[key], site) for key in new]


def _is_free(x: Any) -> bool:
    """Whether nothing of a trace is in an object."""
    seen: dict[int, Any] = {}
    todo = [x]
    while todo:
        part = todo.pop()
        if id(part) in seen or isinstance(part, _WHOLE):
            continue
        if type(part) in ATOMS and type(part) not in SYMBOLIC:
            continue
        seen[id(part)] = part
        parts = None if len(seen) > _MANY else _parts(part)
        if parts is None:
            return False
        todo += parts
    return True


def _parts(x: Any) -> list[Any] | None:
    """What an object holds; None where it is of the trace, or cannot be told."""
    kind = type(x)
    if kind in SYMBOLIC or isinstance(x, torch.Tensor | torch.nn.Module):
        return None
    if kind in (list, tuple, set, frozenset):
        return list(x)
    if kind is dict:
        return [part for item in x.items() for part in item]
    if kind is types.FunctionType:
        return None if is_twin(x.__code__) else []
    own = getattr(x, "__dict__", None)
    if type(own) is not dict or any(c.__dict__.get("__slots__") for c in kind.__mro__):
        return None
    return list(own.values()) if kind.__basicsize__ <= _PLAIN_SIZE else None


class _Plain:
    pass


_PLAIN_SIZE: Final = _Plain.__basicsize__
