"""Bounds of the numbers in index tensors, from the calls that made them.

`argmax` over a dimension of size `n` gives numbers below `n`, and a view of them has no others. The
bounds decide sizes: `bincount(indices, minlength=n)` then has size `n`.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from anyshape.tensor.size import plain, product

_PICKED: Final = frozenset(("argmax", "argmin", "argsort"))
_SECOND: Final = frozenset(("topk", "sort", "max", "min", "kthvalue", "mode", "median"))
_COPIES: Final = frozenset(  # of elements of the first operand
    ("clone", "contiguous", "reshape", "flatten", "ravel", "index_select", "gather", "take", "flip",
     "roll", "masked_select", "long", "to", "repeat", "tile", "__getitem__")
)  # fmt: skip
_DEPTH: Final = 50  # calls that are looked at


def bound_of(value: Any) -> Any:
    """A number that every element of an integer tensor is below; None if none is known.

    The elements that `remainder`, `randint` and `arange` make may be negative; a bound from below
    is not claimed.
    """
    for _ in range(_DEPTH):
        node = value.node
        if node is None or value.root.version > node.epoch or value.meta.dtype is not torch.int64:
            return None
        name = getattr(node.func, "__name__", "")
        is_view = value.root is not value
        if not is_view and name not in _COPIES:
            return _made(name, node, value)
        if not node.args or not hasattr(node.args[0], "meta"):
            return None
        value = node.args[0]
    return None


def _made(name: str, node: Any, value: Any) -> Any:
    """The bound of what a call makes."""
    args, named = node.args, node.kwargs
    source: Any = args[0] if args else named.get("input")
    if name in _PICKED or (name in _SECOND and type(node.outs) is tuple and value is node.outs[1]):
        shape = source.meta.shape
        place = 2 if name in ("topk", "kthvalue") else 1
        dim = named.get("dim", args[place] if len(args) > place else -1 if place == 2 else None)
        if dim is None:
            dim = None if name in ("argmax", "argmin") else -1
        if not shape:
            return 1
        return shape[dim] if type(dim) is int else plain(product(shape)) if dim is None else None
    other = args[1] if len(args) > 1 else named.get("other")
    is_number = isinstance(other, int) and not isinstance(other, bool)
    if name in ("remainder", "__mod__") and is_number and other > 0:
        return other
    return None
