"""The rules of torch.nn: programs traced at one size and run at others, against eager execution."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812  as everybody calls it
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from anyshape.errors import AnyshapeError, ConstraintError, ShapeError
from anyshape.rules.dispatch import resolve
from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.tensor.layout import Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.sym_tensor import ROWS
from anyshape.trace import capture
from tests.differential.replay import Replay
from tests.unit.rules.nn_programs import (
    CASES,
    EXAMPLE,
    GRU,
    KEYS,
    LSTM,
    OTHER,
    SIZES,
    W2,
    Case,
    classes,
    image,
    trace,
)
from tests.unit.rules.program import agrees, check_run, outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KINDS = ("backed", "unbacked")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small tensors are faster without threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager_at_other_sizes(name: str, kind: str) -> None:
    case = CASES[name]
    program = trace(case, kind)
    for sizes in SIZES:
        args = case.inputs(*sizes)
        if kind == "unbacked":
            agrees(case.program, program, *args)
        else:
            check_run(case.program, program, *args)


WINDOWS = [
    (kernel, stride, padding, dilation)
    for kernel, stride, padding, dilation in itertools.product((1, 2, 3), (1, 2, 3), (0, 1), (1, 2))
    if 2 * padding <= kernel
]


@pytest.mark.parametrize("window", WINDOWS)
def test_every_window_over_every_size(window: tuple[int, int, int, int]) -> None:
    kernel, stride, padding, dilation = window

    def program(x: torch.Tensor) -> Any:
        weight = torch.ones(2, 2, kernel)
        return (
            F.max_pool1d(x, kernel, stride, padding, dilation),
            F.max_pool1d(x, kernel, stride, padding, dilation, ceil_mode=True),
            F.conv1d(x, weight, None, stride, padding, dilation),
            F.conv_transpose1d(x, weight, None, stride, padding, 0, 1, dilation),
        )

    traced = trace(Case(program, lambda b, h, w: (torch.rand(2, 2, h),)), "unbacked")
    for n in range(1, 12):
        agrees(program, traced, torch.rand(2, 2, n))


# ---------------------------------------------------------------------- memory formats


def permuted(shape: tuple[int, ...], order: tuple[int, ...]) -> torch.Tensor:
    """A tensor that is dense in a given order of its dimensions, outermost first."""
    places = [order.index(d) for d in range(len(order))]
    return torch.rand([shape[d] for d in order]).permute(places)


IMAGES = {
    "channels last": lambda: permuted((2, 4, 6, 8), (0, 2, 3, 1)),
    "channels last, cut": lambda: permuted((2, 5, 6, 8), (0, 2, 3, 1))[:, :4],
    "heads": lambda: permuted((2, 4, 6, 8), (0, 2, 1, 3)),
    "transposed": lambda: permuted((2, 4, 6, 8), (0, 1, 3, 2)),
    "reversed": lambda: permuted((2, 4, 6, 8), (3, 2, 1, 0)),
    "every other": lambda: torch.rand(2, 4, 6, 16)[..., ::2],
}
LINES = {
    "transposed": lambda: permuted((2, 4, 6), (0, 2, 1)),
    "reversed": lambda: permuted((2, 4, 6), (2, 1, 0)),
}
VOLUMES = {
    "channels last": lambda: permuted((2, 4, 5, 6, 7), (0, 2, 3, 4, 1)),
    "reversed": lambda: permuted((2, 4, 5, 6, 7), (4, 3, 2, 1, 0)),
}
ON_IMAGES = [
    "conv2d", "conv2d channels-last weight", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d",
    "adaptive_max_pool2d", "pad", "pad less", "pad reflect", "pad replicate", "pad circular",
    "interpolate by 2", "interpolate to a size", "pixel_shuffle", "channel_shuffle", "rms_norm",
    "group_norm", "batch_norm", "instance_norm", "local_response_norm", "unfold",
]  # fmt: skip
LAYOUTS = [
    *[(name, made) for name in ON_IMAGES for made in IMAGES.items()],
    *[
        (name, made)
        for name in ("conv1d", "max_pool1d", "interpolate area")
        for made in LINES.items()
    ],
    *[(name, made) for name in ("conv3d", "max_pool3d", "avg_pool3d") for made in VOLUMES.items()],
]


@pytest.mark.parametrize("kind", ["static", *KINDS])
@pytest.mark.parametrize(("name", "made"), LAYOUTS, ids=lambda v: v if isinstance(v, str) else v[0])
def test_layouts_are_those_of_eager(name: str, made: Any, kind: str) -> None:
    program = CASES[name].program
    for grad in (False, True):
        x = made[1]().requires_grad_(grad)
        assert Replay(capture(program, (x,), dynamic=kind), [x]).run() == []


@pytest.mark.parametrize("made", IMAGES.values(), ids=IMAGES)
@pytest.mark.parametrize("kind", ["static", *KINDS])
def test_layouts_of_attention(made: Any, kind: str) -> None:
    x = made()
    for program in (
        lambda x: F.scaled_dot_product_attention(x, x, x),
        lambda x: F.scaled_dot_product_attention(x, x, x[..., :2]),
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
        lambda x: F.scaled_dot_product_attention(x, KEYS, KEYS),
    ):
        assert Replay(capture(program, (x,), dynamic=kind), [x]).run() == []


# ---------------------------------------------------------------------- what eager refuses


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (lambda x: F.conv2d(x, W2), (2, 4, 2, 8)),
        (lambda x: F.conv2d(x, W2), (2, 3, 8, 8)),
        (lambda x: F.max_pool2d(x, 3), (2, 4, 2, 8)),
        (lambda x: F.max_pool2d(x, 2, padding=2), (2, 4, 8, 8)),
        (lambda x: F.pad(x, (3, 0), mode="reflect"), (2, 4, 8, 3)),
        (lambda x: F.pad(x, (4, 0), mode="circular"), (2, 4, 3)),
        (lambda x: F.pad(x, (-4, 0)), (2, 4, 3)),
        (lambda x: F.pixel_shuffle(x, 2), (2, 3, 8, 8)),
        (lambda x: F.group_norm(x, 3), (2, 4, 8)),
        (lambda x: F.layer_norm(x, (5,)), (2, 4)),
        (lambda x: F.batch_norm(x, None, None, training=True), (1, 4)),
        (lambda x: F.interpolate(x, scale_factor=0.1), (2, 4, 8)),
        (lambda x: F.cross_entropy(x, torch.zeros(3, dtype=torch.int64)), (2, 5)),
        (lambda x: F.scaled_dot_product_attention(x, x, x[:, :1]), (2, 4, 8)),
        (LSTM.forward, (2, 4, 5)),
    ],
)
def test_what_eager_refuses_is_refused(program: Any, shape: tuple[int, ...]) -> None:
    x = torch.rand(shape)
    assert isinstance(outcome(program, (x,)), Exception)
    for kind in ("static", *KINDS):
        with pytest.raises((AnyshapeError, ValueError, RuntimeError)):
            capture(program, (x,), dynamic=kind)(x)


def test_the_message_names_the_sizes() -> None:
    program = capture(
        lambda image: F.conv2d(image, W2), (torch.rand(2, 4, 8, 8),), dynamic="unbacked"
    )
    with pytest.raises(AnyshapeError, match=r"image\.size\(2\)"):
        program(torch.rand(2, 4, 2, 8))
    with pytest.raises(ShapeError, match="does not fit"):
        capture(lambda image: F.conv2d(image, W2), (torch.rand(2, 4, 2, 8),), dynamic="static")
    program = capture(
        lambda image: F.conv2d(image, W2), (torch.rand(2, 4, 8, 8),), dynamic="backed"
    )
    with pytest.raises(ConstraintError):
        program(torch.rand(2, 4, 2, 8))


# ---------------------------------------------------------------------- state, dtypes, lengths


def test_running_statistics_change_in_place_and_are_not_taken_for_the_old_ones() -> None:
    def program(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
        before = mean[mean > 0.5]
        y = F.batch_norm(x, mean, var, training=True, momentum=1.0)
        return y, before, mean[mean > 0.5]

    case = Case(program, lambda b, h, w: (torch.rand(b, 4, h) + 1, torch.zeros(4), torch.ones(4)))
    for kind in KINDS:
        traced = trace(case, kind)
        for sizes in (EXAMPLE, OTHER):
            agrees(program, traced, *case.inputs(*sizes))


def test_a_batch_norm_module_counts_its_batches() -> None:
    module = nn.BatchNorm2d(4)
    x = torch.rand(3, 4, 6, 8)
    program = capture(module, (x,), dynamic="backed")
    assert module.num_batches_tracked == 0
    program(x)
    program(torch.rand(5, 4, 7, 9))
    assert module.num_batches_tracked == 2


AUTOCAST: list[Callable[[torch.Tensor], Any]] = [
    lambda x: F.conv2d(x, W2),
    lambda x: F.conv_transpose2d(x, W2.transpose(0, 1).contiguous()),
    lambda x: F.scaled_dot_product_attention(x, x, x),
    lambda x: F.mse_loss(x, x, reduction="none"),
    lambda x: F.cross_entropy(x, x.softmax(1)),
    lambda x: F.layer_norm(x, (8,)),
    lambda x: F.avg_pool3d(x[:, None], 2),
    lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    lambda x: F.grid_sample(x, x[:, :2].movedim(1, -1), align_corners=False),
    lambda x: GRU(x[0, :, :, :3])[0],
]


@pytest.mark.parametrize("place", range(len(AUTOCAST)))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dtypes_under_autocast(place: int, dtype: torch.dtype) -> None:
    def program(x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return AUTOCAST[place](x)

    x = torch.rand(2, 4, 8, 8, dtype=dtype)
    if isinstance(outcome(program, (x,)), Exception):
        assert place == len(AUTOCAST) - 1  # no kernel for such a network
        return
    assert Replay(capture(program, (x,), dynamic="backed"), [x]).run() == []


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_all_results_of_embedding_bag(mode: int, last: bool, dtype: torch.dtype) -> None:
    def program(table: torch.Tensor, i: torch.Tensor, starts: torch.Tensor) -> Any:
        return torch.embedding_bag(table, i, starts, False, mode, False, None, last)

    i, starts = torch.randint(0, 5, (7,)), torch.tensor([0, 2, 4, 7])
    for grad in (False, True):
        table = torch.rand(5, 3, dtype=dtype, requires_grad=grad)
        for kind in KINDS:
            traced = capture(program, (table, i, starts), dynamic=kind)
            assert Replay(traced, [table, i, starts]).run() == []
            more = [table, torch.randint(0, 5, (9,)), torch.tensor([0, 3, 3, 5, 9])]
            assert Replay(traced, more).run() == []


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_of_any_lengths(kind: str) -> None:
    network = nn.LSTM(3, 4, bidirectional=True)

    def program(x: Any, lengths: Any, h: Any, c: Any) -> Any:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, state = network(packed, (h, c))
        return pad_packed_sequence(out, batch_first=True), state

    def inputs(b: int, h: int, w: int) -> tuple[Any, ...]:
        lengths = torch.arange(b) % h + 1
        return torch.rand(b, h, 3), lengths, torch.rand(2, b, 4), torch.rand(2, b, 4)

    case = Case(program, inputs)
    traced = trace(case, kind)
    for b, h in ((3, 6), (7, 5), (1, 4), (2, 1)):
        check_run(program, traced, *inputs(b, h, 0))


# ---------------------------------------------------------------------- speed and control

MODULES: dict[str, tuple[Any, Any]] = {
    "Conv2d": (lambda: nn.Conv2d(4, 6, 3), image()),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(4), image()),
    "MaxPool2d": (lambda: nn.MaxPool2d(2, return_indices=True), image()),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((1, None)), image()),
    "Upsample": (lambda: nn.Upsample(scale_factor=1.5, mode="bilinear"), image()),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), image()),
    "LayerNorm": (lambda: nn.LayerNorm(8), lambda b, h, w: (torch.rand(b, h, 8),)),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda b, h, w: (torch.rand(b, h, 8), torch.rand(b, w, 8), torch.rand(b, w, 8)),
    ),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        lambda b, h, w: (torch.rand(b, h, 8),),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
        lambda b, h, w: (torch.rand(b, h, 8), torch.rand(b, w, 8)),
    ),
    "LSTM": (lambda: nn.LSTM(3, 4), lambda b, h, w: (torch.rand(h, b, 3),)),
    "GRU": (lambda: nn.GRU(3, 4), lambda b, h, w: (torch.rand(h, b, 3),)),
    "Embedding": (lambda: nn.Embedding(5, 3), lambda b, h, w: (torch.randint(0, 5, (b, h)),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 3), lambda b, h, w: (torch.randint(0, 5, (b, h)),)),
    "CrossEntropyLoss": (nn.CrossEntropyLoss, classes),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODULES)
def test_no_module_needs_a_meta_kernel(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any, func: Any, *__: Any) -> Any:
        pytest.fail(f"{func} has no rule")

    monkeypatch.setattr(resolve, "run_meta_kernel", refuse)
    make, inputs = MODULES[name]
    trace(Case(make().eval() if "Layer" in name else make(), inputs), kind)


def wrong_shape(meta: Meta) -> Meta:
    return Meta((*meta.shape[:-1], meta.shape[-1] + 1), meta.dtype, meta.layout)


def wrong_dtype(meta: Meta) -> Meta:
    return Meta(meta.shape, torch.float64, meta.layout)


def wrong_layout(meta: Meta) -> Meta:
    return Meta(meta.shape, meta.dtype, Layout(order=(0, 2, 3, 1)))


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "group_norm", "pad"])
@pytest.mark.parametrize("mistake", [wrong_shape, wrong_dtype, wrong_layout])
def test_a_wrong_rule_is_caught(name: str, mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    programs: dict[str, Any] = {
        "conv2d": lambda x: F.conv2d(x, W2),
        "max_pool2d": lambda x: F.max_pool2d(x, 2),
        "group_norm": lambda x: F.group_norm(x, 2),
        "pad": lambda x: F.pad(x, (1, 1)),
    }
    key = f"F.{name}" if f"F.{name}" in RULES else name
    right = RULES[key].function
    x = torch.rand(3, 4, 6, 8)
    assert Replay(capture(programs[name], (x,), dynamic="unbacked"), [x]).run() == []
    monkeypatch.setitem(RULES, key, Rule(key, lambda *a, **k: mistake(right(*a, **k))))
    ROWS.clear()
    try:
        assert Replay(capture(programs[name], (x,), dynamic="unbacked"), [x]).run() != []
    finally:
        ROWS.clear()
