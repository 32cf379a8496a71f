"""Example inputs of a program of torch's: its own, or tensors of the sizes that it declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import UnsupportedError
from anyshape.export.torch_program.declared_size import Place
from anyshape.torch_compat import pytree
from anyshape.trace import tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.export import ExportedProgram

    Call = tuple[tuple[Any, ...], dict[str, Any]]


def example_of(program: ExportedProgram, values: Sequence[Any], sizes: dict[Place, int]) -> Call:
    """The arguments of a call, with a leaf for each of the values that torch's graph takes."""
    given = program.example_inputs
    if given is None:
        leaves = [_made(leaf, value, sizes) for leaf, value in enumerate(values)]
        given = pytree.tree_unflatten(leaves, program.call_spec.in_spec)
    args, kwargs = given
    leaves = pytree.tree_leaves(_ordered(program, args, kwargs))
    ours, _ = tree.flatten((args, kwargs))
    if len(ours) != len(leaves) or any(a is not b for a, b in zip(ours, leaves, strict=True)):
        raise UnsupportedError(
            "the inputs of the program have other parts here than in torch",
            why="a class among them is a container for one of the two only",
            fix=f"register the class with {pytree.REGISTER}",
            code="AS404",
        )
    return args, kwargs


def _ordered(program: ExportedProgram, args: Any, kwargs: Any) -> Any:
    """The arguments in the order of torch's graph."""
    order = program.call_spec.in_spec.children()[1].context
    return args, {name: kwargs[name] for name in order}


def _made(leaf: int, value: Any, sizes: dict[Place, int]) -> Any:
    """An input with a given value in torch's graph: a tensor without data, or a number."""
    if isinstance(value, torch.SymInt):
        return sizes[Place(leaf, None)]
    if isinstance(value, torch.SymFloat):
        return value.node.hint if value.node.has_hint() else 0.5
    if not isinstance(value, torch.Tensor):
        return value
    shape = [sizes.get(Place(leaf, d), size) for d, size in enumerate(value.shape)]
    made = torch.zeros([int(n) for n in shape], dtype=value.dtype, device=value.device)
    return made.requires_grad_(value.requires_grad)
