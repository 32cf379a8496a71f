"""The hooks around the calls of modules: those of one module, and those of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.torch_compat.module_attribute import CALL_HOOKS, GLOBAL_HOOKS
from anyshape.trace.record.read import read_log

if TYPE_CHECKING:
    from anyshape.trace.record.reader import Reader

_NONE: Final = [None] * len(CALL_HOOKS)


def has_hooks(reader: Reader, m: Any, own: dict[str, Any]) -> bool:
    """Note the hooks around a module whose dict is `own`; whether there are any for this trace."""
    if not reader.knows_hooks:
        reader.knows_hooks = True
        for table in GLOBAL_HOOKS:
            reader.content(table)
    tables = [own[name] or None for name in CALL_HOOKS]
    place = (read_log.CALL_HOOKED, id(m), None)
    if place not in reader.reads and id(m) not in reader._born:
        for hooks in tables:
            if hooks is not None:
                reader.content(hooks)
        reader.reads[place] = (read_log.CALL_HOOKED, m, None, (own, tables))
    if reader.shadows:
        found = [*[own[name] for name in CALL_HOOKS], *GLOBAL_HOOKS]
        return any(reader.shadows.get(id(table), table) for table in found)
    return tables != _NONE or any(GLOBAL_HOOKS)
