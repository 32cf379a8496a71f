"""Attributes of an object that are inputs of a trace: the source lists, or marks, say so.

Of a module, or of the object of a method: its numbers, parameters and buffers, and those of its
submodules, by the names `self.layer.k`, `self.layers[0].weight`. A path in the lists also leads
through plain objects and containers, as in `self.config.k`. A pattern that matches any name at all
means parameters and buffers but no numbers, which are what a module was built with. A tensor that
the object holds under several names is an input under all of them if one is named. So is a tensor
that is marked to be dynamic or unbacked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.compile.dynamism import sources
from anyshape.torch_compat.module_attribute import BUFFERS, MODULES, PARAMETERS, REGISTRIES
from anyshape.trace.argument.attribute import Attribute
from anyshape.trace.argument.marks import marks_of
from anyshape.trace.argument.size_chooser import STATIC

if TYPE_CHECKING:
    from collections.abc import Iterator


def attributes_of(fn: Any, lists: sources.Sources | None = None) -> list[Attribute]:
    """The attributes that the lists (those in force, if None) or marks name.

    Other names of a tensor among them follow at the end.
    """
    lists = sources.current() if lists is None else lists
    root = fn if isinstance(fn, torch.nn.Module) else getattr(fn, "__self__", None)
    if root is None:
        return []
    named = [a for steps in lists.paths if (a := _at_path(root, steps)) is not None]
    if lists.has_patterns or any(map(_is_tensor, named)) or _has_marks(root):
        there = list(_below(root, "self", ()))
        named += [
            a for a in there if lists.names(a.name, number=not _is_tensor(a)) or _is_marked(a)
        ]
        tensors = {id(a.value) for a in named if _is_tensor(a)}
        named += [a for a in there if id(a.value) in tensors]
    found: dict[tuple[int, str], Attribute] = {}
    for a in named:
        found.setdefault((id(a.owner), a.key), a)
    return list(found.values())


def _has_marks(root: Any) -> bool:
    """Whether some tensor of the object has attributes of its own, which marks are."""
    modules = [x for x in (root, *_dict(root).values()) if isinstance(x, torch.nn.Module)]
    tables = [_dict(root)]
    met: set[int] = set()  # a module of the user's may have no hash
    while modules:
        module = modules.pop()
        if id(module) not in met:
            met.add(id(module))
            own = module.__dict__
            modules += [m for m in own[MODULES].values() if m is not None]
            tables += [own, own[PARAMETERS], own[BUFFERS]]
    return any(isinstance(x, torch.Tensor) and x.__dict__ for t in tables for x in t.values())


def _is_tensor(a: Attribute) -> bool:
    return isinstance(a.value, torch.Tensor)


def _is_marked(a: Attribute) -> bool:
    return _is_tensor(a) and any(m.kind != STATIC for m in marks_of(a.value).values())


def _is_input(x: Any) -> bool:
    return type(x) in (int, float) or isinstance(x, torch.Tensor)


def _below(holder: Any, path: str, above: tuple[int, ...]) -> Iterator[Attribute]:
    """All numbers and tensors of an object and of its modules, with their names."""
    own = _dict(holder)
    if id(holder) in above:
        return
    above = (*above, id(holder))
    tables = [own]
    if isinstance(holder, torch.nn.Module):
        tables += [own[name] for name in REGISTRIES]
    for table in tables:
        for key, x in table.items():
            name = _step(path, key, attribute=True)
            if _is_input(x):
                yield Attribute(table, key, name)
            elif isinstance(x, torch.nn.Module):
                yield from _below(x, name, above)


def _at_path(root: Any, steps: tuple[str, ...]) -> Attribute | None:
    """The attribute that a path leads to, through any objects and containers."""
    head, *rest = steps
    holder, name = root, head
    found = None
    for key in rest if head == "self" else ():
        if isinstance(holder, list | tuple):
            table: dict[str, Any] = {str(i): x for i, x in enumerate(holder)}
        else:
            tables = [holder] if isinstance(holder, dict) else [_dict(holder)]
            if isinstance(holder, torch.nn.Module):
                tables += [tables[0][t] for t in REGISTRIES]
            table = next((t for t in tables if key in t), {})
        if key not in table:
            return None
        name = _step(name, key, attribute=not isinstance(holder, dict | list | tuple))
        found = None if isinstance(holder, list | tuple) else Attribute(table, key, name)
        holder = table[key]
    return found if found is not None and _is_input(holder) else None


def _dict(x: Any) -> dict[str, Any]:
    own = getattr(x, "__dict__", None)
    return own if isinstance(own, dict) else {}


def _step(path: str, key: str, *, attribute: bool) -> str:
    """The name of what `path` holds under `key`."""
    if key.isdigit():
        return f"{path}[{key}]"
    return f"{path}.{key}" if attribute and key.isidentifier() else f"{path}[{key!r}]"
