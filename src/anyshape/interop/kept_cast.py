"""Casts of weights that autocast keeps until the caller's outermost block is left.

Eager execution casts a leaf to the lower precision once in a block, and goes on with that cast if
the leaf changes. A lowered program casts the leaf as it is. So a leaf that a lowered program is
given twice in one block must be as it was the first time; else the call is an error.

torch does not tell of its blocks. A tensor of this module's own does: autograd's history of its
cast is one object as long as the casts are kept, and another one after they were dropped.

What is not seen: a leaf that changes in a block between its use in eager execution and its use in a
lowered program, or a change through `.data`, which torch does not count.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch

from anyshape.errors import BackendError
from anyshape.torch_compat.tensor_version import version_of
from anyshape.trace.mode.execution_modes import casts_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.trace.capture import Captured

_Mark: TypeAlias = "tuple[Any, int | None, int]"  # a reference to a leaf, its version, its memory


class _Blocks(threading.local):
    """The block that this thread is in, by device: the history of the cast, and leaves by id."""

    def __init__(self) -> None:
        self.witnesses: dict[str, torch.Tensor] = {}
        self.now: dict[str, tuple[Any, dict[int, _Mark]]] = {}


_blocks: Final = _Blocks()


def _kept(x: Any) -> Any:
    return x


def _leaves_seen(device: str) -> dict[int, _Mark]:
    """The leaves that lowered programs were given in the block of the caller's."""
    with (
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        torch.autograd.graph.saved_tensors_hooks(_kept, _kept),  # no hook of the user's sees it
    ):
        witness = _blocks.witnesses.get(device)
        if witness is None:
            witness = torch.empty(0, 0, dtype=torch.float32, device=device, requires_grad=True)
            _blocks.witnesses[device] = witness
        history: Any = torch.mm(witness, witness).grad_fn
        cast = history.next_functions[0][0]
    before, seen = _blocks.now.get(device, (None, {}))
    if cast is not before:
        seen = {}
        _blocks.now[device] = (cast, seen)
    return seen


def with_fresh_casts(
    run: Callable[[list[Any]], Sequence[Any]], captured: Captured
) -> Callable[[list[Any]], Sequence[Any]]:
    """A lowered program that is called where autocast keeps casts: it checks its leaves first."""
    devices = [*casts_kept(captured.tracer.outer_autocast)]
    graph = captured.graph
    values = [leaf.value for leaf in captured.inputs.leaves]
    places = [i for i, v in enumerate(values) if v is not None and _may_be_kept(v)]
    held = [t for v, t in graph.constants if _may_be_kept(v)]
    if not devices or not (places or held):
        return run

    def checked(flat: list[Any]) -> Sequence[Any]:
        _need_unchanged(devices, [*held, *[flat[i] for i in places]])
        return run(flat)

    return checked


def _may_be_kept(value: Any) -> bool:
    return bool(value.meta.requires_grad and value.meta.dtype is torch.float32)


def _need_unchanged(devices: list[str], tensors: list[torch.Tensor]) -> None:
    """Raise if one of these leaves was another one when a lowered program was given it first."""
    for device in devices:
        seen = _leaves_seen(device)
        for t in tensors:
            if t.device.type != device or not t.is_leaf:
                continue
            mark, known = (version_of(t), t.data_ptr()), seen.get(id(t))
            if known is None or known[0]() is not t:
                seen[id(t)] = (weakref.ref(t), *mark)
            elif known[1:] != mark:
                raise BackendError(
                    "a tensor has changed since it was first used in this block of autocast",
                    why="eager execution would go on with the cast that autocast keeps until the"
                    " block is left, and a program of torch's compilers casts the tensor as it is",
                    fix="change weights outside of autocast, give it cache_enabled=False, or use"
                    " the eager backend",
                )
