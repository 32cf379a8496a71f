"""Bounds of the numbers in index tensors, from the calls that made them.

`argmax` over a dimension of size `n` gives numbers below `n`: its rule says so in `Meta.below`.
Views and copies of the elements have no others. The bounds decide sizes:
`bincount(indices, minlength=n)` then has size `n`.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.tensor.size import plain, product

_COPIES: Final = """
    clone contiguous reshape flatten ravel index_select gather take flip roll masked_select long to
    repeat tile __getitem__
"""
_COPYING: Final = frozenset(
    getattr(owner, name)
    for owner in (torch, torch.Tensor)
    for name in _COPIES.split()
    if hasattr(owner, name)
)
"""Functions whose results have elements of the first operand alone."""
_DEPTH: Final = 50  # calls that are looked at


def bounded(meta: Any, shape: tuple[Any, ...], dim: int | None) -> Any:
    """The result of an op whose elements are positions along a dimension of a shape, or in the
    whole of it."""
    if not shape:
        meta.below = 1
    else:
        meta.below = plain(product(shape)) if dim is None else shape[dim]
    return meta


def bound_of(value: Any) -> Any:
    """A number that every element of an integer tensor is below; None if none is known.

    No bound from below is claimed.
    """
    for _ in range(_DEPTH):
        node = value.node
        if node is None or value.root.version > node.epoch or value.meta.dtype is not torch.int64:
            return None
        if value.meta.below is not None:
            return value.meta.below
        source: Any = node.args[0] if node.args else None
        if not hasattr(source, "meta"):
            return None
        is_view = value.root is not value
        if value.root is not source.root if is_view else node.func not in _COPYING:
            return None
        value = source
    return None
