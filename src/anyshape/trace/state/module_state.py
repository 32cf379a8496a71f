"""The modules of a program are as before after a trace: what it assigned is taken back and refused.

A traced program repeats calls of torch functions, and no assignments: an attribute set in `forward`
would be set once, to a traced value. In-place ops on buffers are recorded, so they are fine.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch

from anyshape.errors import EffectError
from anyshape.torch_compat.module_attribute import REGISTRIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OWN: Final = frozenset(torch.nn.Module().__dict__)
_CONTAINERS: Final = (dict, list, set)


class _Snapshot:
    """The attributes of one module, and what its containers hold, by identity."""

    __slots__ = ("attributes", "containers", "ids", "module")

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        own = module.__dict__
        self.attributes = own.copy()
        self.ids = _ids(own)
        names = [*REGISTRIES, *[n for n in own.keys() - _OWN if type(own[n]) in _CONTAINERS]]
        self.containers = [(n, own[n], own[n].copy(), _ids(own[n])) for n in names]

    def changed(self) -> list[str]:
        """The names of the attributes that are not as before, which they are again afterwards."""
        names = []
        own, before = self.module.__dict__, self.attributes
        if _ids(own) != self.ids:
            names += [k for k in own if k not in before or own[k] is not before[k]]
            names += [k for k in before if k not in own]
            own.clear()
            own.update(before)
        for name, held, content, ids in self.containers:
            if _ids(held) != ids:
                names += _differences(name, held, content)
                _put_back(held, content)
        return names


def _ids(held: Any) -> list[Any]:
    """The keys and the identities of the values of a container, in order."""
    if type(held) is list:
        return list(map(id, held))
    if isinstance(held, dict):
        return [*held, *map(id, held.values())]
    return sorted(map(id, held))


def _differences(name: str, held: Any, content: Any) -> list[str]:
    if name not in REGISTRIES:
        return [name]
    return [k for k in {**held, **content} if held.get(k) is not content.get(k)]


def _put_back(held: Any, content: Any) -> None:
    held.clear()
    if type(held) is list:
        held.extend(content)
    else:
        held.update(content)


@contextmanager
def kept_modules(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    """Run a trace inside; modules are as before in any case, and a change is an error."""
    snapshots = [_Snapshot(m) for m in modules]
    failed = True
    try:
        yield
        failed = False
    finally:
        changes = [(s.module, names) for s in snapshots if (names := s.changed())]
        if changes and not failed:
            module, names = changes[0]
            kind = type(module).__name__
            raise EffectError(
                f"the traced function assigns {', '.join(f'{kind}.{n}' for n in names)}",
                why="the program repeats ops, not assignments, so it would happen once",
                fix="change a buffer in place, as in self.buffer.copy_(value), or return the value;"
                " if it is set in the first call only, call the module once before tracing",
            )
