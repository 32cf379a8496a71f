"""Programs over torch.nn's functions, with inputs of three open sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it

from anyshape.trace import Captured, capture

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLE, OTHER = (3, 6, 8), (4, 7, 9)
SIZES = (EXAMPLE, OTHER, (1, 9, 8), (2, 1, 1), (1, 1, 1), (0, 6, 8), (2, 0, 0))


class Case(NamedTuple):
    """A program and its inputs for a batch and two more sizes."""

    program: Callable[..., Any]
    inputs: Callable[[int, int, int], tuple[Any, ...]]


def trace(case: Case, kind: str, example: tuple[int, int, int] = EXAMPLE) -> Captured:
    """The program with those sizes as symbols that differ between two inputs."""
    args, others = case.inputs(*example), case.inputs(*OTHER)
    dynamic = {
        (i, d)
        for i, (a, b) in enumerate(zip(args, others, strict=True))
        for d, (n, m) in enumerate(zip(a.shape, b.shape, strict=True))
        if n != m
    }
    return capture(
        case.program, args, dynamic=lambda s: kind if (s.leaf, s.dim) in dynamic else "static"
    )


def image(channels: int = 4) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: (torch.rand(b, channels, h, w),)


def line(channels: int = 4) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: (torch.rand(b, channels, h),)


def volume(channels: int = 4) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: (torch.rand(b, channels, 5, h, w),)


def rows(count: int, width: int = 5) -> Callable[..., tuple[Any, ...]]:
    return lambda b, h, w: tuple(torch.rand(b, width) for _ in range(count))


def classes(b: int, h: int, w: int) -> tuple[Any, ...]:
    return torch.randn(b, 5, h), torch.randint(0, 5, (b, h))


def heads(b: int, h: int, w: int) -> tuple[Any, ...]:
    return torch.rand(b, 2, h, 4), torch.rand(b, 2, w, 4), torch.rand(b, 2, w, 4)


def indices(b: int, h: int, w: int) -> tuple[Any, ...]:
    return torch.randint(0, 5, (b, h)), torch.rand(5, 3)


torch.manual_seed(0)
W1, W2, W3 = torch.rand(6, 4, 3), torch.rand(6, 4, 3, 3), torch.rand(6, 4, 2, 2, 2)
LAST = W2.to(memory_format=torch.channels_last)
LSTM, GRU = nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True), nn.GRU(3, 4)
CELL, HEAD, KEYS = nn.LSTMCell(5, 4), torch.rand(6, 5), torch.rand(1, 4, 6, 8)

CASES: dict[str, Case] = {
    "conv1d": Case(lambda x: F.conv1d(x, W1, stride=2, padding=1), line()),
    "conv1d same": Case(lambda x: F.conv1d(x, W1, padding="same"), line()),
    "conv2d": Case(lambda x: F.conv2d(x, W2, stride=(2, 1), dilation=2, padding=2), image()),
    "conv2d channels-last weight": Case(lambda x: F.conv2d(x, LAST, padding=1), image()),
    "conv2d groups": Case(lambda x: F.conv2d(x, W2, groups=2, padding=1), image(8)),
    "conv3d": Case(lambda x: F.conv3d(x, W3, padding=1), volume()),
    "conv_transpose1d": Case(lambda x: F.conv_transpose1d(x, W1, stride=2), line(6)),
    "conv_transpose2d": Case(
        lambda x: F.conv_transpose2d(x, W2, stride=2, padding=1, output_padding=1), image(6)
    ),
    "unfold": Case(lambda x: F.unfold(x, 2, padding=1), image()),
    "fold": Case(lambda x: F.fold(F.unfold(x, 2), x.shape[-2:], 2), image()),
    "max_pool1d": Case(lambda x: F.max_pool1d(x, 2), line()),
    "max_pool2d": Case(
        lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), image()
    ),
    "max_pool2d small ceil": Case(lambda x: F.max_pool2d(x, 1, 3, ceil_mode=True), image()),
    "max_pool3d": Case(lambda x: F.max_pool3d(x, 2, padding=1), volume()),
    "avg_pool2d": Case(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), image()),
    "avg_pool3d": Case(lambda x: F.avg_pool3d(x, 2, padding=1), volume()),
    "adaptive_avg_pool2d": Case(lambda x: F.adaptive_avg_pool2d(x, (2, None)), image()),
    "adaptive_avg_pool2d to 1": Case(lambda x: F.adaptive_avg_pool2d(x, 1), image()),
    "adaptive_max_pool2d": Case(
        lambda x: F.adaptive_max_pool2d(x, (None, 3), return_indices=True), image()
    ),
    "lp_pool2d": Case(lambda x: F.lp_pool2d(x, 2.0, 2), image()),
    "fractional_max_pool2d": Case(
        lambda x: F.fractional_max_pool2d(
            x, 2, output_ratio=0.5, _random_samples=torch.full((x.size(0), 4, 2), 0.5)
        ),
        image(),
    ),
    "max_unpool2d": Case(
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), image()
    ),
    "pad": Case(lambda x: F.pad(x, (1, 2, -1, 3)), image()),
    "constant_pad_nd": Case(
        lambda x: torch.constant_pad_nd(
            x.contiguous(memory_format=torch.channels_last), (1, 2, -1, 3)
        ),
        image(),
    ),
    "pad less": Case(lambda x: F.pad(x, (-1, 0)), image()),
    "pad reflect": Case(lambda x: F.pad(x, (1, 1, 2, 0), mode="reflect"), image()),
    "pad replicate": Case(lambda x: F.pad(x, (1, 1, 2, 0), mode="replicate"), image()),
    "pad circular": Case(lambda x: F.pad(x, (1, 1, 2, 0), mode="circular"), image()),
    "interpolate by 2": Case(lambda x: F.interpolate(x, scale_factor=2), image()),
    "interpolate by 0.7": Case(lambda x: F.interpolate(x, scale_factor=0.7), image()),
    "interpolate, recomputed": Case(
        lambda x: F.interpolate(
            x, scale_factor=1.5, mode="bilinear", align_corners=False, recompute_scale_factor=True
        ),
        image(),
    ),
    "interpolate to a size": Case(
        lambda x: F.interpolate(x, size=(x.size(3), 5), mode="bicubic"), image()
    ),
    "interpolate area": Case(lambda x: F.interpolate(x, size=7, mode="area"), line()),
    "pixel_shuffle": Case(lambda x: F.pixel_shuffle(x, 2), image()),
    "channel_shuffle": Case(lambda x: F.channel_shuffle(x, 2), image()),
    "grid_sample": Case(
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        lambda b, h, w: (torch.rand(b, 4, 5, 5), torch.rand(b, h, w, 2)),
    ),
    "affine_grid": Case(
        lambda t, x: F.affine_grid(t, x.shape, align_corners=False),
        lambda b, h, w: (torch.rand(b, 2, 3), torch.rand(b, 4, h, w)),
    ),
    "layer_norm": Case(lambda x: F.layer_norm(x, x.shape[1:]), image()),
    "rms_norm": Case(lambda x: F.rms_norm(x, x.shape[2:]), image()),
    "group_norm": Case(lambda x: F.group_norm(x, 2), image()),
    "batch_norm": Case(lambda x: F.batch_norm(x, None, None, training=True), image()),
    "instance_norm": Case(F.instance_norm, image()),
    "local_response_norm": Case(lambda x: F.local_response_norm(x, 2), image()),
    "native_layer_norm": Case(
        lambda x: torch.native_layer_norm(x, x.shape[2:], None, None, 1e-5), image()
    ),
    "normalize": Case(lambda x: F.normalize(x, dim=-1), image()),
    "cosine_similarity": Case(F.cosine_similarity, rows(2)),
    "pairwise_distance": Case(lambda x, y: F.pairwise_distance(x, y, keepdim=True), rows(2)),
    "cdist": Case(lambda q, k, v: torch.cdist(q, k), heads),
    "pdist": Case(torch.pdist, rows(1)),
    "embedding": Case(lambda i, w: F.embedding(i, w, padding_idx=-1), indices),
    "embedding, limited": Case(lambda i, w: F.embedding(i, w, max_norm=0.5), indices),
    "embedding_bag": Case(lambda i, w: F.embedding_bag(i, w, mode="max"), indices),
    "embedding_bag, limited": Case(lambda i, w: F.embedding_bag(i, w, max_norm=0.5), indices),
    "losses of elements": Case(
        lambda x, y: [
            loss(x, y, reduction=reduction)
            for loss in (
                F.l1_loss, F.mse_loss, F.smooth_l1_loss, F.huber_loss, F.kl_div,
                F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.soft_margin_loss,
                F.poisson_nll_loss, F.hinge_embedding_loss, F.multilabel_soft_margin_loss,
            )
            for reduction in ("none", "mean", "sum")
        ],
        rows(2),
    ),
    "losses of classes": Case(
        lambda x, y: [
            F.cross_entropy(x, y, reduction="none"),
            F.cross_entropy(x, y, label_smoothing=0.1),
            F.cross_entropy(x, x.softmax(1), reduction="none"),
            F.nll_loss(x, y, reduction="none"),
            F.nll_loss(x, y, ignore_index=2),
        ],
        classes,
    ),
    "losses of triplets": Case(
        lambda x, y, z: [
            F.triplet_margin_loss(x, y, z, swap=True, reduction="none"),
            F.cosine_embedding_loss(x, y, z[:, 0].sign(), reduction="none"),
            F.margin_ranking_loss(x, y, z, reduction="none"),
            F.gaussian_nll_loss(x, y, z, reduction="none"),
            F.gaussian_nll_loss(x, y, z[:, 0], full=True),
        ],
        rows(3),
    ),
    "ctc_loss": Case(
        lambda x, y: F.ctc_loss(
            x.log_softmax(2), y, torch.full((x.size(1),), 7), torch.full((x.size(1),), 2)
        ),
        lambda b, h, w: (torch.rand(7, b, 5), torch.ones(b, 2, dtype=torch.int64)),
    ),
    "attention": Case(F.scaled_dot_product_attention, heads),
    "attention with a mask": Case(
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.ones(q.size(2), k.size(2), dtype=torch.bool)
        ),
        heads,
    ),
    "attention of shared heads": Case(
        lambda q, k, v: F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True),
        heads,
    ),
    "attention of transposed heads": Case(
        lambda x: F.scaled_dot_product_attention(*[x.unflatten(-1, (2, 4)).transpose(1, 2)] * 3),
        lambda b, h, w: (torch.rand(b, h, 8),),
    ),
    "lstm": Case(LSTM.forward, lambda b, h, w: (torch.rand(b, h, 3),)),
    "gru": Case(GRU.forward, lambda b, h, w: (torch.rand(h, b, 3),)),
    "lstm_cell": Case(CELL.forward, rows(1)),
    "dropout": Case(lambda x: (F.dropout(x, 0.0), F.dropout2d(x, training=False)), image()),
}  # fmt: skip
if hasattr(F, "linear_cross_entropy"):  # since torch 2.13
    CASES["linear_cross_entropy"] = Case(
        lambda x, y: F.linear_cross_entropy(x, HEAD, y, reduction="none"),
        lambda b, h, w: (torch.rand(b, 5), torch.zeros(b, dtype=torch.int64)),
    )
