"""Tensor contraction: products summed over pairs of dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.rules.dispatch.autocast import computed_in
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import dims_of, is_tensor, meta_of, shape_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, is_one, plain, product, text

if TYPE_CHECKING:
    import torch


@rule("tensordot")
def tensordot(a: Any, b: Any, dims: Any = 2, dims_b: Any = None) -> Any:
    """Products summed over pairs of dimensions."""
    left, right = shape_of(a), shape_of(b)
    if is_tensor(dims):
        return NotImplemented
    pairs: tuple[list[Any], ...]
    if dims_b is None and isinstance(dims, int):
        pairs = list(range(len(left) - dims, len(left))), list(range(dims))
    elif dims_b is None:
        pairs = tuple(list(d) if isinstance(d, tuple | list) else [d] for d in dims)
    else:
        pairs = list(dims), list(dims_b)
    first, second = dims_of(pairs[0], len(left)), dims_of(pairs[1], len(right))
    for i, j in zip(first, second, strict=True):
        if not is_one(left[i]) and not is_one(right[j]):
            expect_equal(
                left[i],
                right[j],
                lambda: f"tensordot: shapes {text(left)} and {text(right)} do not fit",
            )
    kept = [n for d, n in enumerate(left) if d not in first]
    kept += [n for d, n in enumerate(right) if d not in second]
    return Meta(tuple(kept), _contracted_dtype(meta_of(a), kept))


def _contracted_dtype(meta: Meta, kept: list[Any]) -> torch.dtype:
    """The dtype of `tensordot`. On the CPU it is a product of matrices unless the result has one
    element, and autocast applies to such products.
    """
    dtype = computed_in("mm", meta)
    if dtype is meta.dtype or meta.device is None or meta.device.type != "cpu":
        return meta.dtype
    count = plain(product(kept))
    if type(count) is int and count == 1:
        return meta.dtype
    expect(
        count != 1, lambda: "tensordot: under autocast a result with one element has another dtype"
    )
    return dtype
