"""The memory of the tensors of a program: which share it, and memory for those that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import StateError
from anyshape.torch_compat.tensor_subclass import storage_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from anyshape.export.state.state import State


def _key(t: torch.Tensor) -> Any:
    return storage_id(t.untyped_storage()) if t.layout is torch.strided else id(t)


def overlapping(
    tensors: Mapping[str, torch.Tensor], among: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The pairs of tensors over one storage of which the first is `among` some names."""
    by_storage: dict[Any, list[str]] = {}
    for name, t in tensors.items():
        by_storage.setdefault(_key(t), []).append(name)
    for name in tensors:
        if name in among:
            yield from [(name, other) for other in by_storage[_key(tensors[name])] if other != name]


def allocated(state: State, absent: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    """Tensors with memory in place of some without, by id. Those that share memory still do."""
    wanted = {id(t) for t in absent}
    groups: dict[Any, list[str]] = {}
    for name, t in state.items():
        if state.entry(name).is_missing:
            groups.setdefault(_key(t), []).append(name)
    made: dict[int, torch.Tensor] = {}
    for names in groups.values():
        given = [name for name in names if id(state[name]) in wanted]
        if not given:
            continue
        if len(given) < len(names):
            left = [name for name in names if name not in given]
            raise StateError(
                f"{left[0]} shares memory with {given[0]}, and has no value",
                fix="load both at once",
            )
        storage = None
        for name in names:
            t = state[name]
            if storage is None:
                device = state.forms[name].device
                count = t.untyped_storage().nbytes()
                memory = torch.empty(count, dtype=torch.uint8, device=device)
                storage = memory.untyped_storage()
            made[id(t)] = _over(storage, t, state.forms[name].device)
    return made


def _over(storage: Any, like: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor as `like` is, over other memory."""
    t = torch.empty(0, dtype=like.dtype, device=device)
    t.set_(storage, like.storage_offset(), like.shape, like.stride())
    if isinstance(like, torch.nn.Parameter):
        return torch.nn.Parameter(t, requires_grad=like.requires_grad)
    return t.requires_grad_(like.requires_grad)
