"""The modules of torch.nn with dynamic batch, length and image sizes, against eager execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it
from torch.utils import _pytree as pytree

from tests.differential.agree import KINDS, agrees, trace

if TYPE_CHECKING:
    from collections.abc import Callable

B, S, H, W = 3, 5, 11, 13  # batch, length, height, width of the example; no other size is like it


class Case(NamedTuple):
    """A module (or a function), its inputs for given sizes, and the sizes to run it at."""

    make: Callable[[], Any]
    inputs: Callable[..., tuple[Any, ...]]
    example: tuple[int, ...]
    others: tuple[tuple[int, ...], ...]
    least: tuple[int, ...] = ()  # of each size; 1 by default


class Kept(nn.Module):
    """A module whose call has keyword arguments."""

    def __init__(self, inner: nn.Module, **kwargs: Any) -> None:
        super().__init__()
        self.inner = inner
        self.kwargs = kwargs

    def forward(self, *args: Any) -> Any:
        return self.inner(*args, **self.kwargs)


def rows(*rest: int) -> Callable[..., tuple[Any, ...]]:
    """One tensor with the dynamic sizes first and then `rest`."""
    return lambda *sizes: (torch.randn(*sizes, *rest),)


def images(channels: int) -> Callable[..., tuple[Any, ...]]:
    return lambda b, *sizes: (torch.randn(b, channels, *sizes),)


BATCHES = ((1,), (2,), (7,))
PAIRS = ((1, 5), (2, 7), (4, 2), (1, 1))
IMAGES = ((1, 11, 13), (2, 12, 16), (3, 17, 10), (1, 10, 10))


def rnn(kind: Any, **options: Any) -> Case:
    module = lambda: kind(4, 8, **options)  # noqa: E731
    if options.get("batch_first"):
        return Case(module, rows(4), (B, S), PAIRS)
    return Case(module, lambda b, s: (torch.randn(s, b, 4),), (B, S), PAIRS)


def with_state(kind: Any) -> Case:
    def inputs(b: int, s: int) -> tuple[Any, ...]:
        h = torch.randn(2, b, 8)
        return torch.randn(s, b, 4), (h, torch.randn(2, b, 8)) if kind is nn.LSTM else h

    return Case(lambda: kind(4, 8, num_layers=2), inputs, (B, S), PAIRS)


def attention(**options: Any) -> Case:
    kwargs = {k: options.pop(k) for k in ("need_weights", "is_causal") if k in options}
    masks = options.pop("masks", ())

    def inputs(b: int, s: int) -> tuple[Any, ...]:
        x = torch.randn(b, s, 8)
        padding = torch.zeros(b, s, dtype=torch.bool)
        padding[:, s // 2 + 1 :] = True
        causal = torch.ones(s, s).triu(1).bool()
        return (
            (x, x.clone(), x.clone()),
            padding if "padding" in masks else None,
            causal if "causal" in masks else None,
        )

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.MultiheadAttention(8, 2, batch_first=True, **options)

        def forward(self, qkv: Any, padding: Any, causal: Any) -> Any:
            return self.inner(*qkv, key_padding_mask=padding, attn_mask=causal, **kwargs)

    return Case(Attention, inputs, (B, S), PAIRS)


def encoder(**options: Any) -> Callable[[], nn.Module]:
    layer = lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)  # noqa: E731
    return lambda: nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False, **options)


def padded(b: int, s: int) -> tuple[Any, ...]:
    padding = torch.zeros(b, s, dtype=torch.bool)
    padding[:, s // 2 + 1 :] = True
    return torch.randn(b, s, 8), None, padding


def memory(b: int, s: int) -> tuple[Any, ...]:
    return torch.randn(b, s, 8), torch.randn(b, 6, 8)


class Net(nn.Module):
    """A small image classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3, stride=2),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).flatten(1))


class Residual(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.b(F.relu(self.norm(self.a(x)))))


def two(make: Callable[..., torch.Tensor], *rest: int) -> Callable[..., tuple[Any, ...]]:
    return lambda *sizes: (make(*sizes, *rest), make(*sizes, *rest))


def classes(b: int) -> tuple[Any, ...]:
    return torch.randn(b, 10), torch.randint(0, 10, (b,))


def pixels(b: int, h: int, w: int) -> tuple[Any, ...]:
    return torch.randn(b, 10, h, w), torch.randint(0, 10, (b, h, w))


CASES: dict[str, Case] = {
    "Linear": Case(lambda: nn.Linear(4, 8), rows(4), (B,), BATCHES),
    "Linear, 2 dynamic": Case(lambda: nn.Linear(4, 8), rows(4), (B, S), PAIRS),
    "Linear, no bias": Case(lambda: nn.Linear(4, 8, bias=False), rows(4), (B, S), PAIRS),
    "Bilinear": Case(
        lambda: nn.Bilinear(4, 6, 8),
        lambda b: (torch.randn(b, 4), torch.randn(b, 6)),
        (B,),
        BATCHES,
    ),
    "MLP": Case(
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2), nn.LogSoftmax(-1)),
        rows(4),
        (B,),
        BATCHES,
    ),
    "Embedding": Case(
        lambda: nn.Embedding(10, 4, padding_idx=0),
        lambda b, s: (torch.randint(0, 10, (b, s)),),
        (B, S),
        PAIRS,
    ),
    "EmbeddingBag": Case(
        lambda: nn.EmbeddingBag(10, 4),
        lambda b, s: (torch.randint(0, 10, (b, s)),),
        (B, S),
        PAIRS,
    ),
    "EmbeddingBag with offsets": Case(
        lambda: nn.EmbeddingBag(10, 4, mode="sum"),
        lambda b, n: (torch.randint(0, 10, (n,)), torch.arange(b) * (n // b)),
        (B, H),
        ((1, 11), (2, 7), (4, 4), (1, 1)),
    ),
    "LayerNorm": Case(lambda: nn.LayerNorm(8), rows(8), (B, S), PAIRS),
    "RMSNorm": Case(lambda: nn.RMSNorm(8), rows(8), (B, S), PAIRS),
    "GroupNorm": Case(lambda: nn.GroupNorm(2, 4), images(4), (B, H, W), IMAGES),
    "InstanceNorm2d": Case(
        lambda: nn.InstanceNorm2d(4, affine=True), images(4), (B, H, W), IMAGES
    ),
    "BatchNorm1d train": Case(lambda: nn.BatchNorm1d(8), rows(8), (B,), ((2,), (7,)), (2,)),
    "BatchNorm1d train, length": Case(
        lambda: nn.BatchNorm1d(4), images(4), (B, S), ((1, 5), (2, 7), (4, 2)), (1, 2)
    ),
    "BatchNorm1d eval": Case(lambda: nn.BatchNorm1d(8).eval(), rows(8), (B,), BATCHES),
    "BatchNorm2d train": Case(lambda: nn.BatchNorm2d(4), images(4), (B, H, W), IMAGES, (1, 2, 2)),
    "BatchNorm2d eval": Case(lambda: nn.BatchNorm2d(4).eval(), images(4), (B, H, W), IMAGES),
    "BatchNorm2d, average": Case(
        lambda: nn.BatchNorm2d(4, momentum=None), images(4), (B, H, W), IMAGES, (1, 2, 2)
    ),
    "Conv1d": Case(lambda: nn.Conv1d(4, 8, 3), images(4), (B, S), ((1, 5), (2, 7), (4, 3))),
    "Conv1d, padding same": Case(
        lambda: nn.Conv1d(4, 8, 3, padding="same"), images(4), (B, S), PAIRS
    ),
    "Conv2d": Case(lambda: nn.Conv2d(2, 8, 3), images(2), (B, H, W), IMAGES),
    "Conv2d, strided": Case(
        lambda: nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2), images(4), (B, H, W), IMAGES
    ),
    "Conv2d, dilated": Case(lambda: nn.Conv2d(4, 8, 3, dilation=2), images(4), (B, H, W), IMAGES),
    "Conv2d, padding circular": Case(
        lambda: nn.Conv2d(4, 8, 3, padding=1, padding_mode="circular"), images(4), (B, H, W), IMAGES
    ),
    "Conv3d": Case(
        lambda: nn.Conv3d(2, 4, 2), lambda b, h, w: (torch.randn(b, 2, 4, h, w),), (B, H, W), IMAGES
    ),
    "ConvTranspose2d": Case(
        lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
        images(4),
        (B, H, W),
        IMAGES,
    ),
    "MaxPool1d": Case(lambda: nn.MaxPool1d(2), images(4), (B, S), ((1, 5), (2, 7), (4, 3))),
    "MaxPool2d": Case(lambda: nn.MaxPool2d(2), images(4), (B, H, W), IMAGES),
    "MaxPool2d, ceil, indices": Case(
        lambda: nn.MaxPool2d(3, 2, 1, ceil_mode=True, return_indices=True),
        images(4),
        (B, H, W),
        IMAGES,
    ),
    "AvgPool2d": Case(lambda: nn.AvgPool2d(3, 2, 1), images(4), (B, H, W), IMAGES),
    "AdaptiveAvgPool2d": Case(lambda: nn.AdaptiveAvgPool2d((2, 4)), images(4), (B, H, W), IMAGES),
    "AdaptiveMaxPool2d": Case(lambda: nn.AdaptiveMaxPool2d(2), images(4), (B, H, W), IMAGES),
    "Upsample": Case(lambda: nn.Upsample(scale_factor=2), images(4), (B, H, W), IMAGES),
    "Upsample, bilinear": Case(
        lambda: nn.Upsample(scale_factor=2, mode="bilinear"), images(4), (B, H, W), IMAGES
    ),
    "PixelShuffle": Case(lambda: nn.PixelShuffle(2), images(4), (B, H, W), IMAGES),
    "ZeroPad2d": Case(lambda: nn.ZeroPad2d((1, 2, 0, 1)), images(4), (B, H, W), IMAGES),
    "Unfold": Case(lambda: nn.Unfold(2), images(4), (B, H, W), IMAGES),
    "Flatten, Unflatten": Case(
        lambda: nn.Sequential(nn.Flatten(), nn.Unflatten(1, (2, 4))), rows(4, 2), (B,), BATCHES
    ),
    "Dropout train": Case(lambda: nn.Dropout(0.5), rows(8), (B, S), PAIRS),
    "Dropout eval": Case(lambda: nn.Dropout(0.5).eval(), rows(8), (B, S), PAIRS),
    "Dropout2d train": Case(lambda: nn.Dropout2d(0.5), images(4), (B, H, W), IMAGES),
    "activations": Case(
        lambda: nn.Sequential(
            nn.ReLU(), nn.SiLU(), nn.ELU(), nn.Softplus(), nn.Hardswish(), nn.PReLU(),
            nn.Tanh(), nn.Softmax(-1), nn.LeakyReLU(), nn.Mish(), nn.Hardtanh(),
        ),
        rows(8),
        (B, S),
        PAIRS,
    ),
    "GLU": Case(nn.GLU, rows(8), (B, S), PAIRS),
    "LSTM": rnn(nn.LSTM),
    "LSTM, batch first": rnn(nn.LSTM, batch_first=True),
    "LSTM, bidirectional, 2 layers": rnn(
        nn.LSTM, bidirectional=True, num_layers=2, batch_first=True
    ),
    "LSTM, projected": rnn(nn.LSTM, proj_size=4),
    "LSTM with state": with_state(nn.LSTM),
    "GRU": rnn(nn.GRU),
    "GRU, batch first": rnn(nn.GRU, batch_first=True),
    "GRU, bidirectional": rnn(nn.GRU, bidirectional=True),
    "GRU with state": with_state(nn.GRU),
    "RNN": rnn(nn.RNN),
    "RNN, relu, batch first": rnn(nn.RNN, nonlinearity="relu", batch_first=True),
    "LSTMCell": Case(lambda: nn.LSTMCell(4, 8), rows(4), (B,), BATCHES),
    "GRUCell": Case(lambda: nn.GRUCell(4, 8), rows(4), (B,), BATCHES),
    "MultiheadAttention": attention(),
    "MultiheadAttention, no weights": attention(need_weights=False),
    "MultiheadAttention, padding": attention(masks=("padding",)),
    "MultiheadAttention, causal": attention(
        masks=("causal",), need_weights=False, is_causal=True
    ),
    "MultiheadAttention, both masks": attention(masks=("padding", "causal")),
    "MultiheadAttention, bias of keys": attention(add_bias_kv=True, add_zero_attn=True),
    "TransformerEncoderLayer": Case(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0),
        rows(8),
        (B, S),
        PAIRS,
    ),
    "TransformerEncoderLayer, norm first": Case(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, norm_first=True, activation="gelu").eval(),
        lambda b, s: (torch.randn(s, b, 8),),
        (B, S),
        PAIRS,
    ),
    "TransformerEncoder": Case(encoder(), rows(8), (B, S), PAIRS),
    "TransformerEncoder eval": Case(lambda: encoder()().eval(), rows(8), (B, S), PAIRS),
    "TransformerEncoder, padding": Case(encoder(), padded, (B, S), PAIRS),
    "TransformerEncoder, dropout": Case(
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
        ),
        rows(8),
        (B, S),
        PAIRS,
    ),
    "TransformerDecoderLayer": Case(
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0.0),
        memory,
        (B, S),
        PAIRS,
    ),
    "TransformerDecoder": Case(
        lambda: nn.TransformerDecoder(
            nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2
        ),
        memory,
        (B, S),
        PAIRS,
    ),
    "CNN train": Case(Net, images(2), (B, H, W), IMAGES, (1, 8, 8)),
    "CNN eval": Case(lambda: Net().eval(), images(2), (B, H, W), IMAGES, (1, 8, 8)),
    "residual block": Case(Residual, images(4), (B, H, W), IMAGES, (1, 2, 2)),
    "MSELoss": Case(nn.MSELoss, two(torch.randn), (B, S), PAIRS),
    "L1Loss": Case(nn.L1Loss, two(torch.randn), (B, S), PAIRS),
    "SmoothL1Loss": Case(nn.SmoothL1Loss, two(torch.randn), (B, S), PAIRS),
    "HuberLoss, sum": Case(lambda: nn.HuberLoss("sum"), two(torch.randn), (B, S), PAIRS),
    "BCELoss": Case(nn.BCELoss, two(torch.rand), (B, S), PAIRS),
    "BCEWithLogitsLoss": Case(nn.BCEWithLogitsLoss, two(torch.rand), (B, S), PAIRS),
    "KLDivLoss": Case(
        lambda: nn.KLDivLoss(reduction="batchmean"), two(torch.rand, 4), (B, S), PAIRS
    ),
    "CrossEntropyLoss": Case(nn.CrossEntropyLoss, classes, (B,), BATCHES),
    "CrossEntropyLoss, none": Case(
        lambda: nn.CrossEntropyLoss(reduction="none"), classes, (B,), BATCHES
    ),
    "CrossEntropyLoss, smooth": Case(
        lambda: nn.CrossEntropyLoss(label_smoothing=0.1), classes, (B,), BATCHES
    ),
    "CrossEntropyLoss, images": Case(nn.CrossEntropyLoss, pixels, (B, H, W), IMAGES),
    "NLLLoss": Case(nn.NLLLoss, classes, (B,), BATCHES),
    "CosineEmbeddingLoss": Case(
        nn.CosineEmbeddingLoss,
        lambda b: (torch.randn(b, 4), torch.randn(b, 4), torch.ones(b)),
        (B,),
        BATCHES,
    ),
    "TripletMarginLoss": Case(
        nn.TripletMarginLoss,
        lambda b: (torch.randn(b, 4), torch.randn(b, 4), torch.randn(b, 4)),
        (B,),
        BATCHES,
    ),
    "CosineSimilarity": Case(nn.CosineSimilarity, two(torch.randn, 4), (B,), BATCHES),
    "PairwiseDistance": Case(nn.PairwiseDistance, two(torch.randn, 4), (B,), BATCHES),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_module(name: str, kind: str) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    module = case.make()
    least = case.least or (1,) * len(case.example)
    where = {n: {"min": m} for n, m in zip(case.example, least, strict=True)}
    captured = trace(module, case.inputs(*case.example), kind=kind, where=where)
    for sizes in (case.example, *case.others):
        agrees(captured, module, case.inputs(*sizes))


def test_running_statistics_move_as_in_eager_execution() -> None:
    module, twin = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    captured = trace(module, (torch.randn(B, 4),), kind="unbacked", where={B: {"min": 2}})
    assert module.num_batches_tracked == 0
    for n in (2, 5, 9):
        x = torch.randn(n, 4)
        torch.testing.assert_close(captured(x), twin(x))
        torch.testing.assert_close(module.running_mean, twin.running_mean)
        torch.testing.assert_close(module.running_var, twin.running_var)
    assert module.num_batches_tracked == twin.num_batches_tracked == 3


def test_parameters_are_read_when_the_program_runs() -> None:
    module = nn.Linear(4, 2)
    captured = trace(module, (torch.randn(B, 4),), kind="backed", where=(B,))
    with torch.no_grad():
        module.weight.mul_(2)
    agrees(captured, module, (torch.randn(6, 4),))


def gradients(call: Any, module: nn.Module, inputs: tuple[Any, ...]) -> list[Any]:
    """Of the sum of all results, by the parameters and by the inputs."""
    leaves, spec = pytree.tree_flatten(inputs)
    leaves = [
        x.clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in leaves
    ]
    torch.manual_seed(0)
    out = pytree.tree_leaves(call(*pytree.tree_unflatten(leaves, spec)))
    total = sum(t.sum() for t in out if t is not None and t.requires_grad)
    by = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    by += list(module.parameters())
    return list(torch.autograd.grad(total, by, allow_unused=True))


@pytest.mark.parametrize("name", CASES)
def test_gradients_flow_through_the_program(name: str) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    module = case.make()
    if "BatchNorm" in name:
        module.eval()
    leaves, spec = pytree.tree_flatten(case.inputs(*case.example))
    for x in leaves:
        if isinstance(x, torch.Tensor) and x.is_floating_point():
            x.requires_grad_()
    example = pytree.tree_unflatten(leaves, spec)
    least = case.least or (1,) * len(case.example)
    where = {n: {"min": m} for n, m in zip(case.example, least, strict=True)}
    captured = trace(module, example, kind="unbacked", where=where)
    inputs = case.inputs(*case.others[1])
    if not any(p.requires_grad for p in [*module.parameters(), *leaves] if p is not None):
        return
    expected, actual = gradients(module, module, inputs), gradients(captured, module, inputs)
    torch.testing.assert_close(actual, expected)
