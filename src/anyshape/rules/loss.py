"""Losses: a value for each element or row, or their mean or sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.table import rule
from anyshape.rules.pointwise import elementwise
from anyshape.rules.shared.broadcast import broadcast
from anyshape.rules.shared.operand import is_tensor, meta_of, shape_of
from anyshape.rules.shared.promote import floating, real_of, result_dtype
from anyshape.rules.view import unsqueeze_meta
from anyshape.tensor.layout import CONTIGUOUS, pointwise
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect_equal, text

if TYPE_CHECKING:
    import torch

_REDUCTIONS: Final = {"none": 0, "mean": 1, "sum": 2, "batchmean": 2}


def _reduction(reduction: Any) -> int:
    """The number of a reduction, given by number or by name."""
    if isinstance(reduction, str):
        if reduction not in _REDUCTIONS:
            raise ShapeError(f"{reduction} is not a valid value for reduction")
        return _REDUCTIONS[reduction]
    return int(reduction)


def _loss(reduction: Any, meta: Meta, dtype: torch.dtype | None = None) -> Meta:
    """A loss for each element, or their mean or sum."""
    dtype = meta.dtype if dtype is None else dtype
    if _reduction(reduction) == 0:
        return Meta(meta.shape, dtype, meta.layout)
    return Meta((), dtype)


def _same_shape(op: str, x: Meta, target: Meta) -> None:
    if len(x.shape) != len(target.shape):
        raise ShapeError(f"{op}: shapes {text(x.shape)} and {text(target.shape)} differ")
    for n, m in zip(x.shape, target.shape, strict=True):
        if n is not m:
            expect_equal(
                n, m, lambda: f"{op}: shapes {text(x.shape)} and {text(target.shape)} differ"
            )


# ---------------------------------------------------------------------- elementwise


def _elementwise(*names: str) -> None:
    """Losses of pairs of elements, which broadcast."""

    @rule(*names)
    def loss(x: Any, target: Any, reduction: Any = 1, *_: Any, **__: Any) -> Any:
        return _loss(reduction, elementwise(real_of(result_dtype(x, target)), x, target))

    @rule(*[f"F.{name}" for name in names])
    def functional(
        x: Any, target: Any, size_average: Any = None, reduce: Any = None,
        reduction: str = "mean", *_: Any, weight: Any = None, **__: Any,
    ) -> Any:  # fmt: skip
        if size_average is not None or reduce is not None or weight is not None:
            return NotImplemented
        return loss(x, target, reduction)


_elementwise("l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss")


@rule("huber_loss")
def huber_loss(x: Any, target: Any, reduction: Any = 1, delta: Any = 1.0) -> Any:
    """Squares near 0, magnitudes farther out."""
    return _loss(reduction, elementwise(result_dtype(x, target), x, target))


@rule("F.huber_loss")
def functional_huber_loss(
    x: Any, target: Any, reduction: str = "mean", delta: Any = 1.0, weight: Any = None
) -> Any:
    """The function of `torch.nn.functional`."""
    return NotImplemented if weight is not None else huber_loss(x, target, reduction)


@rule("binary_cross_entropy")
def binary_cross_entropy(x: Any, target: Any, weight: Any = None, reduction: Any = 1) -> Any:
    """The cross entropy of probabilities of one class."""
    meta = meta_of(x)
    _same_shape("binary_cross_entropy", meta, meta_of(target))
    return _loss(reduction, elementwise(meta.dtype, x, target))


@rule("F.binary_cross_entropy")
def functional_binary_cross_entropy(
    x: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    if weight is not None:
        broadcast(shape_of(x), shape_of(weight))
    return binary_cross_entropy(x, target, weight, reduction)


@rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: Any = 1
) -> Any:
    """The cross entropy of scores of one class."""
    meta = meta_of(x)
    _same_shape("binary_cross_entropy_with_logits", meta, meta_of(target))
    shape = meta.shape
    for w in (weight, pos_weight):
        if w is not None:
            shape = broadcast(shape, shape_of(w))
    operands = [t for t in (x, target, weight, pos_weight) if t is not None]
    return _loss(reduction, Meta(shape, result_dtype(*operands)))


@rule("F.binary_cross_entropy_with_logits")
def functional_binary_cross_entropy_with_logits(
    x: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return binary_cross_entropy_with_logits(x, target, weight, pos_weight, reduction)


@rule("kl_div")
def kl_div(x: Any, target: Any, reduction: Any = 1, *, log_target: bool = False) -> Any:
    """The divergence of two distributions."""
    found = elementwise(result_dtype(x, target), x, target)
    if not log_target:
        found.layout = CONTIGUOUS
    return _loss(reduction, found)


@rule("F.kl_div")
def functional_kl_div(
    x: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return kl_div(x, target, reduction, log_target=log_target)


@rule("poisson_nll_loss")
def poisson_nll_loss(
    x: Any, target: Any, log_input: bool, full: bool, eps: Any, reduction: Any
) -> Any:
    """The negative log likelihood of counts."""
    return _loss(reduction, elementwise(floating(result_dtype(x, target)), x, target))


@rule("F.gaussian_nll_loss")
def gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: Any = 1e-6, reduction: str = "mean"
) -> Any:
    """The negative log likelihood of normal variables; `var` may lack the last dimension."""
    pair = elementwise(result_dtype(x, target), x, target)
    if not is_tensor(var):
        return _loss(reduction, pair, floating(pair.dtype))
    spread = meta_of(var)
    if len(spread.shape) == len(shape_of(x)) - 1:
        spread = unsqueeze_meta(spread, len(spread.shape))
    shape = broadcast(pair.shape, spread.shape)
    dtype = floating(result_dtype(x, target, var))
    return _loss(reduction, Meta(shape, dtype, pointwise(shape, [spread, pair])))


# ---------------------------------------------------------------------- classes


@rule("cross_entropy_loss")
def cross_entropy_loss(
    x: Any, target: Any, weight: Any = None, reduction: Any = 1, ignore_index: Any = -100,
    label_smoothing: Any = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of scores; the target holds classes or probabilities."""
    meta = meta_of(x)
    _need_classes("cross_entropy", meta, meta_of(target))
    shape = meta.shape
    rest = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    return _loss(reduction, Meta(rest, meta.dtype))


def _need_classes(op: str, x: Meta, target: Meta) -> None:
    """Require a class, or a probability of each class, for each row of scores."""
    shape = x.shape
    if len(target.shape) == len(shape) and target.dtype.is_floating_point:
        _same_shape(op, x, target)
        return
    rest = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    _same_shape(op, Meta(rest, x.dtype), target)


@rule("F.cross_entropy")
def functional_cross_entropy(
    x: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: Any = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: Any = 0.0,
) -> Any:  # fmt: skip
    """The function of `torch.nn.functional`."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return cross_entropy_loss(x, target, weight, reduction)


@rule("F.linear_cross_entropy")
def linear_cross_entropy(  # noqa: PLR0913  torch's signature
    x: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
    reduction: str = "mean", ignore_index: Any = None, label_smoothing: Any = 0.0,
    options: Any = None,
) -> Any:  # fmt: skip
    """The cross entropy of a linear map of the input."""
    if options is not None:
        return NotImplemented
    a, w = meta_of(x), meta_of(linear_weight)
    expect_equal(
        a.shape[-1],
        w.shape[-1],
        lambda: (
            f"linear_cross_entropy: {text(a.shape[-1])} features and {text(w.shape[-1])} weights"
        ),
    )
    logits = Meta((*a.shape[:-1], *w.shape[:-1]), a.dtype, device=a.device)
    _need_classes("linear_cross_entropy", logits, meta_of(target))
    return _loss(reduction, Meta((*a.shape[:-1], *w.shape[1:-1]), a.dtype))


@rule("nll_loss", "nll_loss_nd", "nll_loss2d", "F.nll_loss")
def nll_loss(
    x: Any, target: Any, weight: Any = None, *rest: Any, reduction: Any = None,
    size_average: Any = None, reduce: Any = None, ignore_index: Any = -100,
) -> Any:  # fmt: skip
    """The negative log likelihood of the target classes."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    if rest and reduction is None:
        reduction = rest[0]
    meta = meta_of(x)
    shape = meta.shape
    lost = Meta((*shape[:1], *shape[2:]) if len(shape) > 1 else (), meta.dtype)
    _same_shape("nll_loss", lost, meta_of(target))
    return _loss("mean" if reduction is None else reduction, lost)


def _rows(*names: str) -> None:
    """Losses of rows of scores: one number for each row."""

    @rule(*names)
    def loss(x: Any, target: Any, *rest: Any, reduction: Any = None, **__: Any) -> Any:
        if reduction is None:
            reduction = next((r for r in reversed(rest) if isinstance(r, int)), 1)
        meta = meta_of(x)
        return _loss(reduction, Meta(meta.shape[:-1], meta.dtype))

    for name in names:

        @rule(f"F.{name}")
        def functional(
            x: Any, target: Any, *rest: Any, size_average: Any = None, reduce: Any = None,
            reduction: str = "mean", **__: Any,
        ) -> Any:  # fmt: skip
            if rest or size_average is not None or reduce is not None:
                return NotImplemented
            return loss(x, target, reduction=reduction)


_rows("multi_margin_loss", "multilabel_margin_loss")


# ---------------------------------------------------------------------- pairs and triplets


@rule("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = 1
) -> Any:
    """Small for pairs that point the same way, or for those that do not."""
    a = broadcast(shape_of(input1), shape_of(input2))
    shape = broadcast(a[:-1], shape_of(target))
    return _loss(reduction, Meta(shape, floating(result_dtype(input1, input2))))


@rule("hinge_embedding_loss")
def hinge_embedding_loss(x: Any, target: Any, margin: Any = 1.0, reduction: Any = 1) -> Any:
    """The distance for similar pairs; for others, how far it falls short of the margin."""
    return _loss(reduction, elementwise(result_dtype(x, target), x, target))


@rule("margin_ranking_loss")
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: Any = 0.0, reduction: Any = 1
) -> Any:
    """Small where the first is ranked as the target says."""
    dtype = floating(result_dtype(input1, input2, target))
    return _loss(reduction, elementwise(dtype, input1, input2, target))


@rule("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: Any = 2, eps: Any = 1e-6,
    swap: bool = False, reduction: Any = 1,
) -> Any:  # fmt: skip
    """Small where the anchor is nearer to the positive than to the negative."""
    near = broadcast(shape_of(anchor), shape_of(positive))
    shape = broadcast(near, shape_of(negative))
    dtype = real_of(floating(result_dtype(anchor, positive, negative)))
    return _loss(reduction, Meta(shape[:-1], dtype))


@rule("ctc_loss", "F.ctc_loss")
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any = 0,
    reduction: Any = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The negative log likelihood of labels at unknown positions of a sequence."""
    meta = meta_of(log_probs)
    return _loss(reduction, Meta(meta.shape[1:-1], meta.dtype))
