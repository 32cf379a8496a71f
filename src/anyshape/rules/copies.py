"""Copies of rearranged tensors: flipped, rolled, rotated, and the `*_copy` forms of views."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import ShapeError
from anyshape.rules import complex_view, diagonal, index, join, subview, view
from anyshape.rules.cast import detach
from anyshape.rules.dispatch.result import Instead, Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import like
from anyshape.rules.shared.operand import dims_of, meta_of
from anyshape.tensor.layout import permuted
from anyshape.tensor.meta import Meta


@rule("flip", "fliplr", "flipud")
def flip(x: Any, *dims: Any, **_: Any) -> Any:
    """Dimensions reversed: a copy."""
    return like(x)


@rule("roll")
def roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Elements shifted along dimensions; those that leave at one end enter at the other."""
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype)


@rule("rot90")
def rot90(x: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """A plane rotated by `k` quarter turns."""
    meta = meta_of(x)
    rank = len(meta.shape)
    plane = dims_of(dims, rank)
    if len(plane) != 2:
        raise ShapeError(f"rot90: expected 2 dimensions to rotate, got {len(plane)}")
    k %= 4
    if k == 0:
        return Meta(meta.shape, meta.dtype)
    flipped = like(x)
    if k == 2:
        return flipped
    order = list(range(rank))
    order[plane[0]], order[plane[1]] = plane[1], plane[0]
    shape = tuple([meta.shape[d] for d in order])
    return Meta(shape, meta.dtype, permuted(flipped, order))


def _contiguous(meta: Meta) -> Meta:
    return Meta(meta.shape, meta.dtype)


def _copied(name: str, function: Any) -> Any:
    def copied(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        if type(found) is Instead:
            func = getattr(torch, name)
            return Instead(func, found.args, _contiguous(found.out), **found.kwargs)
        if type(found) is Many:
            return Many([_contiguous(m) for m in found.parts])
        return _contiguous(found)

    return copied


def _alias(x: Any) -> Meta:
    return meta_of(x)


for _name, _function in {
    "alias": _alias,
    "as_strided": subview.as_strided,
    "detach": detach,
    "diagonal": diagonal.take_diagonal,
    "expand": view.expand,
    "permute": view.permute,
    "select": index.select,
    "slice": index.slice_,
    "split": join.split,
    "split_with_sizes": join.split_with_sizes,
    "squeeze": view.squeeze,
    "t": view.t,
    "transpose": view.transpose,
    "unbind": join.unbind,
    "unfold": subview.unfold,
    "unsqueeze": view.unsqueeze,
    "view": view.view,
    "view_as_complex": complex_view.view_as_complex,
    "view_as_real": complex_view.view_as_real,
}.items():
    rule(f"{_name}_copy")(_copied(f"{_name}_copy", _function))
