"""The door of a traced program: are these inputs among those that it was traced for?

Checked always: structure, types, dtypes, ranks, devices, static sizes, numbers and other plain
values, which inputs are one tensor, the default dtype. Checked where the program asked while
tracing: layouts and requires_grad. Guards over sizes come last.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from anyshape.errors import ArgumentError, ConstraintError
from anyshape.expr.python import function
from anyshape.tensor.layout import dense_strides
from anyshape.tensor.size import text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyshape.env import Env, Obligation
    from anyshape.trace.inputs import Inputs, Leaf


class Door:
    """What the inputs of one program must be."""

    def __init__(
        self,
        inputs: Inputs,
        guards: Sequence[Obligation],
        hold: Callable[..., int],
        *,
        layouts: bool,
        gradients: bool,
        dtype: torch.dtype,
        env: Env,
    ) -> None:
        self.inputs = inputs
        self.env = env
        self.guards = guards
        self.hold = hold
        self.layouts = layouts
        self.gradients = gradients
        self.dtype = dtype
        places = [(b.leaf, b.dim) for b in inputs.binds] + [r[:2] for r in inputs.relations]
        self.bound = {leaf for leaf, dim in places if dim is None}
        names = [b.name for b in inputs.binds]
        self.related = function([n.expr for _, _, n in inputs.relations], names)

    def check(self, flat: list[Any]) -> None:
        """Raise unless the flat inputs may pass."""
        self.check_inputs(flat)
        guard = self.first_failure(flat)
        if guard is not None:
            raise ConstraintError(f"a guard fails: {guard.text}", why=guard.describe())

    def values(self, flat: list[Any]) -> list[Any]:
        """The values of the symbols that the inputs bind, in order."""
        return [bind.read(flat) for bind in self.inputs.binds]

    def first_failure(self, flat: list[Any]) -> Obligation | None:
        """The first guard that does not hold."""
        failed = self.hold(*self.values(flat))
        return None if failed < 0 else self.guards[failed]

    def describe(self, flat: list[Any]) -> str:
        """The sizes of the inputs by the user's names."""
        env = self.env
        pairs = zip(self.inputs.binds, self.values(flat), strict=True)
        return ", ".join(f"{env.sources.get(bind.name, bind.name)} = {v}" for bind, v in pairs)

    def check_inputs(self, flat: list[Any]) -> None:
        """Raise unless the inputs are what they were while tracing, guards aside."""
        if torch.get_default_dtype() is not self.dtype:
            raise ConstraintError(
                f"the default dtype is {torch.get_default_dtype()}; the program was traced under"
                f" {self.dtype}"
            )
        for i, (leaf, x) in enumerate(zip(self.inputs.leaves, flat, strict=True)):
            self._leaf(i, leaf, x, flat)
        if self.inputs.relations:
            self._relations(flat, self.values(flat))

    def _leaf(self, i: int, leaf: Leaf, x: Any, flat: list[Any]) -> None:
        if leaf.twin is not None:
            if x is not flat[leaf.twin]:
                twin = self.inputs.leaves[leaf.twin].name
                raise ConstraintError(
                    f"{leaf.name} was the same tensor as {twin} while tracing, and is not now"
                )
        elif leaf.value is not None:
            self._tensor(leaf, x)
        elif type(x) is not type(leaf.example):
            raise ArgumentError(
                f"{leaf.name} is {type(x).__name__}, not {type(leaf.example).__name__}"
            )
        elif i not in self.bound and not same(x, leaf.example):
            raise ConstraintError(
                f"{leaf.name} is {x!r}; the program was traced for {leaf.example!r}"
            )

    def _relations(self, flat: list[Any], values: list[int]) -> None:
        """Raise unless the sizes that share a name, or an expression of names, are what it says."""
        for (i, d, n), wanted in zip(self.inputs.relations, self.related(*values), strict=True):
            name = self.inputs.leaves[i].name
            actual = flat[i] if d is None else flat[i].size(d)
            if actual != wanted:
                place = name if d is None else f"{name}.size({d})"
                raise ConstraintError(
                    f"{place} is {actual}; it must be {text(n)}, which is {wanted}"
                )

    def _tensor(self, leaf: Leaf, x: Any) -> None:
        if not isinstance(x, torch.Tensor):
            raise ArgumentError(f"{leaf.name} is {type(x).__name__}, not a tensor")
        example = leaf.example
        if x.dtype is not example.dtype or x.dim() != example.dim() or x.device != example.device:
            raise ConstraintError(
                f"{leaf.name} is {x.dtype} of rank {x.dim()} on {x.device}; the program was traced"
                f" for {example.dtype} of rank {example.dim()} on {example.device}"
            )
        for d, n in enumerate(leaf.shape):
            if type(n) is int and x.size(d) != n:
                raise ConstraintError(
                    f"{leaf.name}.size({d}) is {x.size(d)}; the program was traced for {n}"
                )
        if self.gradients and x.requires_grad is not example.requires_grad:
            raise ConstraintError(
                f"{leaf.name}.requires_grad is {x.requires_grad}; the program asked for it while"
                f" tracing, when it was {example.requires_grad}"
            )
        if self.layouts and not same_layout(leaf, x):
            raise ConstraintError(
                f"{leaf.name} has strides {x.stride()} and offset {x.storage_offset()}; the program"
                f" asked for its layout while tracing, when it had {example.stride()} and"
                f" {example.storage_offset()}"
            )


def same(x: Any, example: Any) -> bool:
    """Whether a plain value is the one that it was while tracing."""
    if x is example:
        return True
    if isinstance(x, float) and math.isnan(x):
        return math.isnan(example)
    try:
        return bool(x == example)
    except Exception:  # a comparison of the user's own
        return False


def same_layout(leaf: Leaf, x: torch.Tensor) -> bool:
    """Whether a tensor lies in memory as it did while tracing, sizes apart."""
    assert leaf.value is not None
    layout = leaf.value.meta.layout.found()
    if x.storage_offset() != leaf.example.storage_offset():
        return False
    if layout.strides is not None:
        wanted = tuple(layout.strides)
    else:
        wanted = dense_strides(tuple(x.shape), layout.order)
    return all(n <= 1 or a == b for n, a, b in zip(x.shape, x.stride(), wanted, strict=True))
