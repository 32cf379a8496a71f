"""Scaled dot-product attention, and its softmax."""

from __future__ import annotations

from typing import Any

from anyshape.errors import ShapeError
from anyshape.expr import evaluate
from anyshape.expr.traverse import symbols_of
from anyshape.rules.dispatch.table import rule
from anyshape.rules.reduction import softmax
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import meta_of
from anyshape.rules.subview import is_dense
from anyshape.tensor.layout import CONTIGUOUS, Layout, strides_of
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import equal, expect, expect_equal, product, surely_equal, text


@rule("scaled_dot_product_attention", random=True)
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: Any = 0.0,
    is_causal: bool = False, *, scale: Any = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """`softmax(query @ key.mT * scale) @ value`; batch dimensions broadcast.

    With `enable_gqa` each head of keys and values serves several heads of queries.
    """
    q, k, v = meta_of(query), meta_of(key), meta_of(value)
    for m in (q, k, v):
        if len(m.shape) < 2:
            raise ShapeError(f"attention: expected at least 2 dimensions, got {text(m.shape)}")
    expect_equal(
        q.shape[-1],
        k.shape[-1],
        lambda: f"attention: {text(q.shape[-1])} features per query, {text(k.shape[-1])} per key",
    )
    expect_equal(
        k.shape[-2],
        v.shape[-2],
        lambda: f"attention: {text(k.shape[-2])} keys and {text(v.shape[-2])} values",
    )
    batch = _batch(q, k, v, enable_gqa)
    if attn_mask is not None:
        _need_mask(batch, q, k, meta_of(attn_mask))
    shape = (*batch, q.shape[-2], v.shape[-1])
    if len(shape) != len(q.shape) or not all(map(surely_equal, batch, q.shape)):
        count = product((*shape, *k.shape[-2:]))
        expect(
            count != 0,
            lambda: f"attention without elements has the shape of the queries, not {text(shape)}",
        )
    layout = CONTIGUOUS
    if len(shape) == 4 and not is_dense(q) and dropout_p == 0:
        mask_grad = attn_mask is not None and bool(meta_of(attn_mask).requires_grad)
        layout = Layout(make=lambda: _layout(q, k, v, enable_gqa, mask_grad))
    return Meta(shape, q.dtype, layout)


def _batch(q: Meta, k: Meta, v: Meta, gqa: bool) -> tuple[Any, ...]:
    lead = q.shape[:-2]
    if not gqa:
        return broadcast(lead, k.shape[:-2], v.shape[:-2])
    heads = lead[-1]
    for m in (k, v):
        n = m.shape[-3]
        _need_grouped(heads, n)
    return (*broadcast(lead[:-1], k.shape[:-3], v.shape[:-3]), heads)


def _need_grouped(heads: Any, n: Any) -> None:
    expect(
        heads % n == 0,
        lambda: (
            f"attention: {text(heads)} heads of queries are not a multiple of {text(n)} of keys"
        ),
    )


def _need_mask(batch: tuple[Any, ...], q: Meta, k: Meta, mask: Meta) -> None:
    """Require that a mask can be expanded to the shape of the scores."""
    scores = (*batch, q.shape[-2], k.shape[-2])
    found = broadcast(scores, mask.shape)
    if len(found) != len(scores):
        raise ShapeError(
            f"attention: a mask of shape {text(mask.shape)} for scores of shape {text(scores)}"
        )
    for n, m in zip(found, scores, strict=True):
        if n is not m:
            expect_equal(
                n,
                m,
                lambda: (
                    f"attention: a mask of shape {text(mask.shape)} for scores of shape"
                    f" {text(scores)}"
                ),
            )


def _layout(q: Meta, k: Meta, v: Meta, gqa: bool, mask_grad: bool) -> Layout:
    """The fused kernel keeps the layout of the queries; the composed one is contiguous."""
    same = equal(q.shape[-1], v.shape[-1]) and not mask_grad
    for m in (k, v):
        same = same and equal(m.shape[0], q.shape[0])
        same = same and (gqa or equal(m.shape[1], q.shape[1]))
    if not same or not all(equal(strides_of(m)[-1], 1) for m in (q, k, v)):
        return CONTIGUOUS
    layout = q.layout.found()
    return Layout(order=layout.order if layout.dense else _order(q))


def _order(meta: Meta) -> tuple[int, ...]:
    """The dimensions by decreasing stride, at sizes that are neither 0 nor 1."""
    strides = [_example(s) for s in strides_of(meta)]
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


def _example(n: Any) -> Any:
    """The value of a stride if every symbol is 2, for comparing strides."""
    if type(n) is int:
        return n
    return evaluate(n.expr, {s.name: 2 for s in symbols_of(n.expr)})


@rule("_safe_softmax")
def safe_softmax(x: Any, dim: Any, dtype: Any = None) -> Any:
    """A distribution along a dimension, of zeros where everything is masked."""
    return softmax(x, dim, dtype)
