"""Cases where torch.compile 2.13 is wrong, fails inside or compiles too often, compiled by ours.

Each is compared with eager execution; where eager has no answer either, the error names the size,
the line and what was needed.
"""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812  as everybody calls it

import anyshape
from anyshape import config, guard_or_false, statically_known_true
from anyshape.errors import (
    AnyshapeError,
    AnyshapeWarning,
    ArgumentError,
    ConfigError,
    RuntimeAssertError,
)
from tests.differential.compile_pair import unequal

Tensor = torch.Tensor
DYNAMIC = pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
WHOLE = pytest.mark.parametrize("fullgraph", [False, True])


def agrees(compiled: Any, fn: Any, *args: Any) -> None:
    wrong = unequal(compiled(*args), fn(*args))
    assert not wrong, wrong


def vectors(*sizes: int) -> list[Tensor]:
    return [torch.arange(float(n)) for n in sizes]


# ---------------------------------------------------------------------- W01, W02: sums of sizes


def branch_on_a_sum(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    n = x.size(0) + y.size(0)
    w = x + y
    m = n + z.size(0)
    return w + 100 if m == x.size(0) + z.size(0) + 2 else w


def sum_beside_a_cat(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    n = x.size(0) + y.size(0)
    w = x + y
    return torch.zeros(n + z.size(0)) + torch.cat([x, y, z]) + w.sum()


@DYNAMIC
@pytest.mark.parametrize("fn", [branch_on_a_sum, sum_beside_a_cat])
def test_w01_w02_a_sum_of_sizes_that_turn_out_equal(fn: Any, dynamic: Any) -> None:
    compiled = anyshape.compile(fn, dynamic=dynamic)
    for n, m in ((5, 7), (2, 7), (3, 3), (5, 0), (1, 1), (0, 4), (2, 2)):
        agrees(compiled, fn, *vectors(n, n, m))


@pytest.mark.parametrize("fn", [branch_on_a_sum, sum_beside_a_cat])
def test_w01_w02_with_marks(fn: Any) -> None:
    compiled = anyshape.compile(fn, fullgraph=True)
    for n, m in ((5, 7), (4, 7), (6, 3)):
        args = vectors(n, n, m)
        for x in args:
            anyshape.mark_dynamic(x, 0)
        agrees(compiled, fn, *args)


# ---------------------------------------------------------------------- W03: factors that may be 0


@WHOLE
def test_w03_a_factor_that_may_be_zero_is_not_cancelled(fullgraph: bool) -> None:
    def fn(t: Tensor) -> Any:
        u, v = t.tolist()
        torch._check(u == u * v)
        return t + 1, statically_known_true(v == 1)

    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for pair in ([0, 5], [3, 1], [0, 0]):
        out, known = compiled(torch.tensor(pair))
        assert torch.equal(out, torch.tensor(pair) + 1)
        assert known is False
    with pytest.raises(RuntimeAssertError):
        compiled(torch.tensor([2, 5]))


def test_w03_a_product_with_a_remainder() -> None:
    def fn(t: Tensor) -> Any:
        u, w = t.tolist()
        torch._check(u * (w % 4) <= 0)
        return t * 2

    compiled = anyshape.compile(fn, fullgraph=True)
    for pair in ([5, 4], [0, 3], [-1, 3]):
        agrees(compiled, fn, torch.tensor(pair))
    with pytest.raises(RuntimeAssertError):
        compiled(torch.tensor([5, 3]))


# ---------------------------------------------------------------------- W04, W05: division


def remainder_by_a_negative(x: Tensor) -> Tensor:
    return x + 1 if (-(x.size(0) + 4)) % (-2) < 0 else x - 1


def two_divisions(x: Tensor) -> Tensor:
    return torch.zeros(1) + ((x.size(0) // 4) // (-3))


def divisions_of_negatives(x: Tensor) -> Tensor:
    n = x.size(0)
    return torch.zeros(1) + (-n) // 3 + (-n) % 5 * 10 + (n - 7) // (-2) * 100


@DYNAMIC
@pytest.mark.parametrize("fn", [remainder_by_a_negative, two_divisions, divisions_of_negatives])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_w04_w05_division_by_negatives(fn: Any, dynamic: Any, backend: str) -> None:
    if backend == "inductor" and (dynamic is None or fn is divisions_of_negatives):
        dynamic = True  # one program is enough of the slow backend
    compiled = anyshape.compile(fn, dynamic=dynamic, backend=backend, recompile_limit=20)
    for n in (2, 4, 1, 3, 0, 7, 12, 13, 25):
        agrees(compiled, fn, torch.arange(float(n)))


# ---------------------------------------------------------------------- W11: answers stay true


@WHOLE
def test_w11_what_is_checked_later_is_known_later(fullgraph: bool) -> None:
    def fn(t: Tensor) -> Any:
        u = t.item()
        before = guard_or_false(u * u > 5)
        torch._check(u * u > 5)
        return before, guard_or_false(u * u > 5), t + 1 if u * u > 5 else t

    compiled = anyshape.compile(fn, fullgraph=fullgraph)
    for n in (3, -4, 7):
        assert unequal(compiled(torch.tensor(n)), (False, True, torch.tensor(n + 1))) == ""


def test_w11_a_guard_is_known_after_it_was_asked() -> None:
    def fn(x: Tensor) -> Any:
        n = x.size(0)
        before = statically_known_true(n != 7)
        out = x + 1 if n != 7 else x - 1
        return before, statically_known_true(n != 7), out

    compiled = anyshape.compile(fn, dynamic=True)
    x = torch.randn(5)
    before, after, out = compiled(x)
    assert (before, after) == (False, True)
    assert torch.equal(out, x + 1)
    assert torch.equal(compiled(torch.ones(7))[2], torch.zeros(7))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_w11_squeeze_before_and_after_it_is_known(backend: str) -> None:
    def fn(x: Tensor) -> Any:
        a = x.squeeze(0)
        torch._check(x.size(0) == 1)
        return a.sum(), x.squeeze(0) + 1

    compiled = anyshape.compile(fn, dynamic="unbacked", backend=backend, fullgraph=True)
    x = torch.randn(1, 3)
    total, y = compiled(x)
    torch.testing.assert_close((total, y), (x.sum(), x[0] + 1))


# ---------------------------------------------------------------------- W12: errors say what failed


def equality(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


@WHOLE
def test_w12_a_failed_precondition_is_an_error_about_it(fullgraph: bool) -> None:
    compiled = anyshape.compile(equality, dynamic="unbacked", fullgraph=fullgraph)
    agrees(compiled, equality, torch.randn(2, 3), torch.randn(3, 4))
    agrees(compiled, equality, torch.randn(5, 7), torch.randn(7, 1))
    with pytest.raises(RuntimeError, match=r"shapes .*(2x3 and 4x4|\[2, 3\] and \[4, 4\])"):
        compiled(torch.randn(2, 3), torch.randn(4, 4))
    assert len(compiled.entries) == 1


def test_w12_bounds_and_ids_of_marks() -> None:
    def fn(x: Tensor, y: Tensor) -> Any:
        return x * 2, y.sum()

    compiled = anyshape.compile(fn, fullgraph=True)

    def call(n: int, m: int) -> None:
        x, y = vectors(n, m)
        anyshape.mark_unbacked(x, 0, min=2, max=6, shape_id="n")
        anyshape.mark_unbacked(y, 0, shape_id="n")
        agrees(compiled, fn, x, y)

    call(3, 3)
    call(6, 6)
    for n, m in ((3, 4), (7, 7), (1, 1)):
        with pytest.raises(AnyshapeError, match="x"):
            call(n, m)
    assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- W13: broadcasting from 1


@pytest.mark.parametrize("fullgraph", [False])
def test_w13_an_unbacked_size_of_one_is_stretched(fullgraph: bool) -> None:
    def fn(x: Tensor, y: Tensor) -> Tensor:
        return x + y

    for sizes in (((1, 5), (5, 1), (4, 4)), ((4, 4), (1, 5), (5, 1), (1, 1), (0, 1))):
        compiled = anyshape.compile(fn, dynamic="unbacked", fullgraph=fullgraph)
        for n, m in sizes:
            agrees(compiled, fn, *vectors(n, m))


# ---------------------------------------------------------------------- W14-W17: marks


def test_w14_a_mark_makes_a_size_unbacked() -> None:
    def fn(x: Tensor) -> Tensor:
        return x * 2

    compiled = anyshape.compile(fn)
    for n in (5, 1, 0, 2, 1):
        x = torch.randn(n, 3)
        anyshape.mark_unbacked(x, 0)
        agrees(compiled, fn, x)
    assert len(compiled.entries) == 1


def test_w14_torch_marks_count_in_their_strict_form() -> None:
    from torch._dynamo.decorators import mark_unbacked

    def fn(x: Tensor) -> Tensor:
        return x * 2

    compiled = anyshape.compile(fn)
    for n in (5, 1, 0, 2):
        x = torch.randn(n, 3)
        mark_unbacked(x, 0, strict=True)
        agrees(compiled, fn, x)
    assert len(compiled.entries) == 1


def test_w15_lists_bounds_and_hints_are_kept() -> None:
    def fn(x: Tensor) -> Tensor:
        return x.sum(1)

    compiled = anyshape.compile(fn, fullgraph=True)
    x = torch.randn(4, 5)
    anyshape.mark_unbacked(x, [0, -1], min=2, max=8)
    agrees(compiled, fn, x)
    agrees(compiled, fn, torch.randn(8, 2))
    with pytest.raises(AnyshapeError):
        compiled(torch.randn(4, 9))
    anyshape.mark_unbacked(x, 0, hint=0)
    for dim in (2, -3, [0, 5]):
        with pytest.raises((ArgumentError, IndexError)):
            anyshape.mark_unbacked(x, dim)


@pytest.mark.parametrize("bounds", [{"min": 3}, {"max": 9}, {}])
def test_w16_one_bound_alone(bounds: dict[str, int]) -> None:
    def fn(x: Tensor) -> Tensor:
        return x * 2

    compiled = anyshape.compile(fn)
    for n in (5, 3, 9):
        x = torch.randn(n)
        anyshape.mark_dynamic(x, 0, **bounds)
        agrees(compiled, fn, x)
    assert len(compiled.entries) == 1


def test_w17_a_hint_that_is_not_the_size() -> None:
    def fn(x: Tensor) -> Tensor:
        return x + 1 if x.size(0) > 50 else x - 1

    compiled = anyshape.compile(fn)
    for n in (5, 70, 5):
        x = torch.zeros(n)
        anyshape.mark_unbacked(x, 0, hint=100)
        agrees(compiled, fn, x)
    assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- W18, W19: source lists


@WHOLE
def test_w18_an_unbacked_number_may_be_negative(fullgraph: bool) -> None:
    def fn(x: Tensor, n: int) -> Tensor:
        return x + n

    with config.patch(unbacked_sources="L['n']"):
        compiled = anyshape.compile(fn, fullgraph=fullgraph)
        for n in (-3, 4, 0, 1, -(2**40)):
            agrees(compiled, fn, torch.randn(3), n)
    assert len(compiled.entries) == 1


def test_w19_a_pattern_for_all_names_takes_parameters_too() -> None:
    layer = torch.nn.Linear(4, 3)
    with config.patch(unbacked_sources=".*"):
        compiled = anyshape.compile(layer)
        for n in (2, 1, 0, 5):
            agrees(compiled, layer, torch.randn(n, 4))
        other = torch.nn.Linear(4, 3)
        layer.weight, layer.bias = other.weight, other.bias
        agrees(compiled, other, torch.randn(2, 4))
        layer.weight = torch.nn.Parameter(torch.randn(7, 4))
        layer.bias = torch.nn.Parameter(torch.randn(7))
        agrees(compiled, layer, torch.randn(2, 4))
        assert len(compiled.entries) == 1


def test_w19_a_bad_pattern_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="neither a name nor a pattern"):
        config.unbacked_sources = "x(("
    monkeypatch.setenv("TORCH_COMPILE_UNBACKED_SOURCES", "x((")
    with pytest.raises(ConfigError):
        anyshape.compile(lambda x: x + 1)(torch.ones(2))
    monkeypatch.setenv("TORCH_COMPILE_UNBACKED_SOURCES", "nothing_of_that_name")
    with pytest.warns(AnyshapeWarning, match="nothing_of_that_name"):
        anyshape.compile(lambda x: x + 1)(torch.ones(2))


# ---------------------------------------------------------------------- W24: time


def test_w24_many_unbacked_dimensions_take_no_time() -> None:
    def fn(x: Tensor) -> Tensor:
        return x.permute(*reversed(range(x.dim()))) + 1

    spent = {}
    for rank in (2, 8, 12):
        compiled = anyshape.compile(fn, dynamic="unbacked", fullgraph=True)
        x = torch.randn([2] * rank)
        start = time.thread_time()
        agrees(compiled, fn, x)
        spent[rank] = time.thread_time() - start
        agrees(compiled, fn, torch.randn([1, 3, *[1] * (rank - 2)]))
        assert len(compiled.entries) == 1
    assert spent[12] < 1.0


# ---------------------------------------------------------------------- W25, W26: common ops


OPS: dict[str, tuple[Any, list[tuple[tuple[int, ...], ...]]]] = {
    "attention": (
        F.scaled_dot_product_attention,
        [((2, 2, s, 4),) * 3 for s in (3, 1, 7)],
    ),
    "batch norm": (lambda x: F.batch_norm(x, None, None, training=True), [((4, 3),), ((9, 3),)]),
    "pool": (lambda x: F.adaptive_avg_pool2d(x, 1), [((2, 3, 4, 5),), ((1, 1, 7, 2),)]),
    "roll": (lambda x: x.roll(2, 0), [((5, 2),), ((1, 2),), ((0, 2),)]),
    "loss": (F.mse_loss, [((4, 3), (4, 3)), ((1, 1), (1, 1)), ((0, 2), (0, 2))]),
    "view of transposed": (lambda x: x.t().contiguous().view(-1), [((3, 4),), ((1, 5),)]),
    "expand": (
        lambda x: x[None].expand(3, *x.shape).reshape(x.size(0) * 3, -1),
        [((4, 2),), ((2, 3),)],
    ),
    "chunk": (lambda x: x.chunk(2), [((6,),), ((8,),), ((4,),)]),
    "emptiness": (lambda x: x + 1 if x.numel() > 0 else x, [((4,),), ((0,),), ((1,),)]),
    "contiguity": (lambda x: x.t().is_contiguous(), [((4, 3),), ((2, 5),)]),
    "convolution": (
        lambda x, w: F.conv2d(x, w, padding=1),
        [((1, 2, 6, 7), (3, 2, 3, 3)), ((2, 2, 3, 9), (3, 2, 3, 3))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_w25_w26_common_ops_with_unbacked_sizes(name: str) -> None:
    fn, calls = OPS[name]
    compiled = anyshape.compile(fn, dynamic="unbacked")
    for shapes in calls:
        agrees(compiled, fn, *[torch.randn(shape) for shape in shapes])
    assert len(compiled.entries) == 1
    assert compiled.eager_because is None


def test_w26_convolution_by_inductor() -> None:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        return F.conv2d(x, w, padding=1)

    compiled = anyshape.compile(fn, backend="inductor")
    w = torch.randn(3, 2, 3, 3)
    for h, width in ((6, 7), (3, 9)):
        x = torch.randn(2, 2, h, width)
        anyshape.mark_unbacked(x, [2, 3])
        torch.testing.assert_close(compiled(x, w), fn(x, w))
    assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- W27, W28: guards


SLICES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "half": (lambda x: x[: x.size(0) // 2], (8, 2, 3, 5, 9)),
    "view": (lambda x: x.view(-1, 4, 3), (24, 12, 36)),
    "convolution": (lambda x: F.conv1d(x.view(1, 1, -1), torch.ones(1, 1, 3)), (20, 3, 7000, 5)),
    "quarter": (lambda x: x[: math.floor((x.size(0) // 2) / 2)], (8, 2, 3, 5, 7)),
    "at most eight": (lambda x: x[: min(x.size(0), 8)], (20, 3, 8, 9, 2)),
    "divmod": (lambda x: x[sum(divmod(x.size(0), 3)) :], (20, 3, 8, 9, 2)),
    "sorted": (lambda x: x[: sorted([x.size(0), 5, 3])[1]], (20, 6, 9)),
}


@pytest.mark.parametrize("name", SLICES)
def test_w27_no_guard_that_the_program_does_not_need(name: str) -> None:
    fn, sizes = SLICES[name]
    compiled = anyshape.compile(fn, dynamic=True)
    for n in sizes:
        agrees(compiled, fn, torch.arange(float(n)))
    assert len(compiled.entries) == 1, compiled.explain()


def log_of_a_size(x: Tensor) -> Tensor:
    return x * math.log(x.size(0) + 1)


def size_as_key(x: Tensor) -> Tensor:
    return x + {2: 10, 3: 20}.get(x.size(0), 30)


def hash_of_a_shape(x: Tensor) -> Tensor:
    return x + (1 if x.shape in {(2,), (3,)} else 2)


def range_of_a_size(x: Tensor) -> Tensor:
    return sum((x * i for i in range(x.size(0))), x)


@DYNAMIC
@pytest.mark.parametrize("fn", [log_of_a_size, size_as_key, hash_of_a_shape, range_of_a_size])
def test_w28_python_uses_of_a_size(fn: Any, dynamic: Any) -> None:
    compiled = anyshape.compile(fn, dynamic=dynamic)
    for n in (4, 2, 3, 0, 1, 5, 4):
        agrees(compiled, fn, torch.arange(float(n)))
    assert compiled.eager_because is None
    if fn is log_of_a_size and dynamic == "unbacked":
        assert len(compiled.entries) == 1


# ---------------------------------------------------------------------- W33: strides of nothing


def test_w33_contiguous_inputs_of_any_size_share_a_program() -> None:
    def fn(x: Tensor) -> Tensor:
        return x.contiguous().view(-1) + 1

    compiled = anyshape.compile(fn, dynamic="unbacked", fullgraph=True)
    for shape in ((4, 3), (5, 0), (0, 5), (0, 0), (1, 1), (1, 4), (4, 1), (3, 2)):
        agrees(compiled, fn, torch.randn(shape))
    assert len(compiled.entries) == 1


def test_w33_transposed_and_sliced_inputs_share_a_program() -> None:
    def fn(x: Tensor) -> Tensor:
        return x * 2 + x.sum()

    compiled = anyshape.compile(fn, dynamic="unbacked", fullgraph=True)
    for x in (torch.randn(4, 3), torch.randn(4, 3).t(), torch.randn(8, 6)[::2, 1:4]):
        agrees(compiled, fn, x)
    assert len(compiled.entries) == 1
