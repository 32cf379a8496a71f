"""Ops whose results depend on the data: what their symbols know, and which of them are one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.tensor.size import known
from anyshape.trace import capture
from tests.unit.rules.program import agrees, outcome, traced


def told(ask: Any, *example: Any) -> Any:
    """What a traced function says while it is traced."""
    said: list[Any] = []

    def fn(*args: Any) -> Any:
        said.append(ask(*args))
        return args[0]

    traced(fn, *example)
    return said[0]


# ---------------------------------------------------------------------- ranges


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (torch.uint8, 0, 255),
        (torch.int8, -128, 127),
        (torch.int16, -(2**15), 2**15 - 1),
        (torch.int32, -(2**31), 2**31 - 1),
        (torch.bool, 0, 1),
    ],
)
def test_an_item_is_in_the_range_of_its_dtype(dtype: torch.dtype, low: int, high: int) -> None:
    def ask(x: Any) -> Any:
        n = x.item() + 0 if dtype is not torch.bool else x.to(torch.uint8).item() * 0
        return known(n >= low), known(n <= high)

    assert told(ask, torch.zeros((), dtype=dtype)) == (True, True)


def test_a_count_is_at_most_the_number_of_elements() -> None:
    def ask(x: Any) -> Any:
        n, m = x.shape
        count = (x > 0).nonzero().shape[0]
        some = x[x > 1].shape[0]
        rows = x[x[:, 0] > 0].shape[0]
        few = torch.unique(x).shape[0]
        return [
            known(condition)
            for condition in (
                count >= 0, count <= n * m, some >= 0, some <= n * m, rows >= 0, rows <= n,
                few <= n * m,
            )
        ]  # fmt: skip

    assert told(ask, torch.ones(3, 4)) == [True] * 7


def test_bincount_has_at_least_minlength() -> None:
    assert told(lambda x: known(torch.bincount(x, minlength=5).shape[0] >= 5), torch.tensor([1]))


# ---------------------------------------------------------------------- one symbol


def test_one_mask_gives_one_size() -> None:
    def ask(x: Any, y: Any) -> Any:
        mask = x > 0
        a, b, c = x[mask], y[mask], mask.nonzero()
        again = x[x > 0]
        return [known(a.shape[0] == n) for n in (b.shape[0], c.shape[0], again.shape[0])]

    assert told(ask, torch.ones(4), torch.ones(4)) == [True, True, True]


def test_a_mask_that_changed_gives_another_size() -> None:
    def ask(x: Any) -> Any:
        mask = x > 0
        before = x[mask].shape[0]
        mask[0] = False
        return known(before == x[mask].shape[0])

    assert told(ask, torch.ones(4)) is None


def test_an_item_of_a_changed_tensor_is_another_number() -> None:
    def ask(x: Any) -> Any:
        first = x.sum().item()
        same = x.sum().item()
        x.add_(1)
        return known(first == same), known(first == x.sum().item())

    assert told(ask, torch.ones(3, dtype=torch.int64)) == (True, None)


def test_random_numbers_are_never_one() -> None:
    def ask(x: Any) -> Any:
        return known(x[torch.rand(4) > 0.5].shape[0] == x[torch.rand(4) > 0.5].shape[0])

    assert told(ask, torch.ones(4)) is None


# ---------------------------------------------------------------------- programs


def test_masks_and_counts_run_as_eager() -> None:
    def fn(x: Any) -> Any:
        picked = x[x > 2]
        where = torch.where(x > 2)
        return picked + 1, where, picked * x.masked_select(x > 2), torch.unique(picked)

    program = traced(fn, torch.arange(6))
    for n in (0, 1, 2, 3, 4, 9):
        agrees(fn, program, torch.arange(n))


def test_split_by_items_needs_sizes_that_add_up() -> None:
    def fn(x: Any, sizes: Any) -> Any:
        a, b, c = x.split(sizes.tolist())
        return a.sum(), b * 2, c

    program = capture(
        fn,
        (torch.arange(6), torch.tensor([1, 2, 3])),
        dynamic=lambda spot: "unbacked" if spot.leaf == 0 else "static",
    )
    for sizes in itertools.product(range(-1, 4), repeat=3):
        agrees(fn, program, torch.arange(6), torch.tensor(sizes))


def test_tolist_gives_numbers_to_compute_with() -> None:
    def fn(x: Any) -> Any:
        a, b = x.tolist()
        return torch.zeros(a, b + 1), a * b

    program = capture(fn, (torch.tensor([2, 3]),), dynamic="static")
    for a, b in itertools.product(range(-1, 4), repeat=2):
        agrees(fn, program, torch.tensor([a, b]))


def test_the_size_of_a_slice_is_the_smaller_of_both() -> None:
    def ask(x: Any, k: int) -> Any:
        n = x.shape[0]
        return x[: k + 0].shape[0], torch.sym_min(k, n)

    def fn(x: Any, k: Any) -> Any:
        return x[: k.item()]

    program = traced(fn, torch.arange(5), torch.tensor(2))
    for n, k in itertools.product(range(4), range(-5, 6)):
        agrees(fn, program, torch.arange(n), torch.tensor(k))
    size, least = told(ask, torch.arange(5), 2)
    assert known(size <= 5) is None
    assert least is not None


def test_slices_that_leave_one_out_match() -> None:
    def fn(x: Any) -> Any:
        n = x.shape[0]
        return x[:-1] + x[: n - 1] + x[1:]

    program = traced(fn, torch.arange(5))
    assert not program.runtime_asserts
    for n in range(5):
        agrees(fn, program, torch.arange(n))


def test_repeat_interleave_by_counts() -> None:
    def fn(x: Any, counts: Any) -> Any:
        return torch.repeat_interleave(x, counts, dim=0) + 1

    program = traced(fn, torch.ones(3, 2), torch.tensor([1, 0, 2]))
    for counts in itertools.product(range(3), repeat=2):
        agrees(fn, program, torch.ones(2, 2), torch.tensor(counts))
    assert isinstance(outcome(program, (torch.ones(3, 2), torch.tensor([1, 1]))), Exception)


def test_equal_answers_without_asking_for_sizes() -> None:
    def fn(x: Any, y: Any) -> Any:
        return torch.where(torch.tensor(torch.equal(x, y)), 1, 0)

    program = traced(fn, torch.ones(3), torch.ones(4))
    for n, m in itertools.product(range(3), repeat=2):
        agrees(fn, program, torch.ones(n), torch.ones(m))


def test_an_item_needs_one_element() -> None:
    program = traced(lambda x: x.sum(0).item() * x.new_ones(1), torch.ones(3, dtype=torch.int64))
    assert program(torch.ones(4, dtype=torch.int64)).item() == 4
    with pytest.raises(AnyshapeError):
        traced(lambda x: x.new_zeros(2).item(), torch.ones(3))


def test_bincount_keeps_its_dtype_without_elements() -> None:
    def fn(x: Any, w: Any) -> Any:
        return torch.bincount(x, w)

    program = traced(fn, torch.tensor([1, 2]), torch.ones(2))
    assert [d.op for d in program.deviations] == ["bincount"]
    empty = program(torch.zeros(0, dtype=torch.int64), torch.ones(0))
    assert empty.dtype is torch.float32
    agrees(fn, program, torch.tensor([3, 3, 0]), torch.ones(3))


NUMBERS = {
    "keyword": lambda x, t, k: torch.add(x, x, alpha=t),
    "value": lambda x, t, k: torch.addcmul(x, x, x, value=t),
    "position": lambda x, t, k: torch.nn.functional.elu(x, t),
    "two": lambda x, t, k: torch.nn.functional.threshold(x, t, t),
    "of_a_product": lambda x, t, k: torch.addmv(x, x[:, None] * x, x, beta=t, alpha=k),
    "shift": lambda x, t, k: torch.roll(x, k),
    "offset": lambda x, t, k: torch.diag_embed(x, k - 1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_tensor_without_dimensions_may_stand_for_a_number(name: str) -> None:
    """Also a result, and with another value in the next call."""

    def fn(x: Any, t: Any, k: Any) -> Any:
        return NUMBERS[name](x, t, k), NUMBERS[name](x, t * 2, k)

    compiled = anyshape.compile(fn, dynamic=True)
    for n, number in ((3, 0.5), (3, 0.25), (5, 1.5), (1, 0.75)):
        given = (torch.randn(n), torch.tensor(number, dtype=torch.float64), torch.tensor(2))
        for a, b in zip(compiled(*given), fn(*given), strict=True):
            assert torch.equal(a, b)


def test_a_tensor_with_a_dimension_does_not_stand_for_a_number() -> None:
    with pytest.raises(TypeError, match="must be Number"):
        anyshape.compile(lambda x, t: torch.add(x, x, alpha=t))(torch.ones(2), torch.ones(1))
