"""The modules of a program are as before after a trace: what it assigned is taken back and refused.

A traced program repeats calls of torch functions, and no assignments: an attribute set in `forward`
would be set once, to a traced value. In-place ops on buffers are recorded, so they are fine.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import torch

_REGISTRIES: Final = ("_parameters", "_buffers", "_modules")


class _Snapshot:
    """The attributes of one module, and what its containers hold."""

    __slots__ = ("attributes", "containers", "module")

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        own = module.__dict__
        self.attributes = own.copy()
        self.containers = [
            (name, held, held.copy())
            for name, held in own.items()
            if type(held) in (dict, list, set) and (held or name[0] != "_" or name in _REGISTRIES)
        ]

    def changed(self) -> list[str]:
        """The names of the attributes that are not as before, which they are again afterwards."""
        names = []
        own, before = self.module.__dict__, self.attributes
        if own.keys() != before.keys() or any(own[k] is not v for k, v in before.items()):
            names += [k for k in own if k not in before or own[k] is not before[k]]
            names += [k for k in before if k not in own]
            own.clear()
            own.update(before)
        for name, held, content in self.containers:
            if not _same(held, content):
                names += _differences(name, held, content)
                _put_back(held, content)
        return names


def _same(held: Any, content: Any) -> bool:
    if len(held) != len(content):
        return False
    if type(held) is dict:
        return all(k in held and held[k] is v for k, v in content.items())
    if type(held) is list:
        return all(a is b for a, b in zip(held, content, strict=True))
    return bool(held == content)


def _differences(name: str, held: Any, content: Any) -> list[str]:
    if name not in _REGISTRIES:
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
            raise UnsupportedError(
                f"the traced function assigns {', '.join(f'{kind}.{n}' for n in names)}",
                why="the program repeats ops, not assignments, so it would happen once",
                fix="change a buffer in place, as in self.buffer.copy_(value), or return the value;"
                " if it is set in the first call only, call the module once before tracing",
            )
