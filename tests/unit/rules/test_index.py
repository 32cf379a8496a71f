"""`x[...]` and `x[...] = y` traced with unbacked sizes, run at other sizes, against eager."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import DimError, UnsupportedError
from tests.unit.rules.program import agrees, check_run, outcome, traced

if TYPE_CHECKING:
    from collections.abc import Callable

SHAPES = [(4, 5, 6), (2, 2, 2), (3, 7, 4), (5, 3, 3)]
SMALL = [(1, 3, 2), (3, 1, 2), (2, 3, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0), (1, 1, 1)]


def filled(*shape: int) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape)


BASIC: dict[str, Any] = {
    "first": 0,
    "last": -1,
    "second of second": (slice(None), 1),
    "negative": (slice(None), -2),
    "ellipsis": (..., 0),
    "ellipsis alone": ...,
    "around": (0, ..., -1),
    "new": None,
    "new inside": (slice(None), None, 0),
    "new last": (..., None),
    "new after a number": (1, None, slice(1, None)),
    "from": slice(1, None),
    "to": slice(None, -1),
    "middle": slice(1, -1),
    "steps": slice(None, None, 2),
    "steps from": (slice(None), slice(1, None, 3)),
    "far": (slice(None), slice(-100, 100)),
    "empty": slice(2, 1),
    "all": (slice(None), slice(1), slice(-1, None)),
    "empty tuple": (),
}

GATHERED: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x[[0, 1, 0]],
    "list of a later dimension": lambda x: x[:, [0, -1]],
    "nested lists": lambda x: x[[[0, 1], [1, 0]],],
    "transposed tensor": lambda x: x[torch.tensor([[0, 1, 0], [1, 0, 1]]).t()],
    "transposed tensor, later": lambda x: x[:, torch.tensor([[0, 1, 0], [1, 0, 1]]).t()],
    "transposed by transposed": lambda x: x.permute(2, 1, 0)[:, torch.tensor([[0, 1], [1, 1]]).t()],
    "two lists": lambda x: x[[0, 1], [1, 0]],
    "two lists apart": lambda x: x[[0, 1], :, [1, 0]],
    "a list and a number": lambda x: x[[0, 1], 0],
    "a number and a list": lambda x: x[0, :, [1, 0]],
    "a list and a slice": lambda x: x[1:, [0, 1]],
    "a list and a new dimension": lambda x: x[None, [0, 1]],
    "a list after an ellipsis": lambda x: x[..., [1, 0]],
    "a list that broadcasts": lambda x: x[[[0], [1]], [0, 1]],
    "tensor": lambda x: x[torch.tensor([1, 0])],
    "tensor of its own": lambda x: x[x[:, 0, 0] % x.shape[0]],
    "scalar tensor": lambda x: x[torch.tensor(1)],
    "a range of its size": lambda x: x[:, torch.arange(x.shape[1])],
    "diagonal": lambda x: x[torch.arange(2), torch.arange(2)],
    "of a transpose": lambda x: x.transpose(0, 2)[[0, 1]],
    "of a transpose, later": lambda x: x.transpose(0, 1)[:, [0, 1]],
    "int32": lambda x: x[torch.tensor([0, 1], dtype=torch.int32)],
}

MASKED: dict[str, Callable[[Any], Any]] = {
    "whole mask": lambda x: x[x > 3],
    "mask of rows": lambda x: x[x[:, 0, 0] % 2 == 0],
    "mask of two dimensions": lambda x: x[x[:, :, 0] > 3],
    "mask of a later dimension": lambda x: x[:, x[0, :, 0] > 1],
    "mask and a number": lambda x: x[x[:, 0, 0] >= 0, 0],
    "number and mask": lambda x: x[0, x[0, :, 0] >= 1],
    "mask and a slice": lambda x: x[x[:, 0, 0] >= 0, 1:],
    "mask and a list": lambda x: x[x[:, 0, 0] % 7 == 0, [0]],
    "mask that is a number": lambda x: x[torch.tensor(True)],
    "False": lambda x: x[False],
    "True": lambda x: x[True],
    "nonzero": lambda x: x[(x > 3).nonzero(as_tuple=True)],
}

SET: dict[str, Callable[[Any], Any]] = {
    "number": lambda x: x.__setitem__(0, 7),
    "last": lambda x: x.__setitem__(-1, x[0]),
    "slice": lambda x: x.__setitem__((slice(None), slice(1, None)), -1),
    "slice by a slice": lambda x: x.__setitem__(slice(1, None), x[:-1].clone()),
    "stretched": lambda x: x.__setitem__(..., x[0, 0]),
    "stretched with ones": lambda x: x.__setitem__(0, x[0][None]),
    "mask": lambda x: x.__setitem__(x > 3, 0),
    "mask by elements": lambda x: x.__setitem__(x > 3, x[x > 3] * 2),
    "mask of rows": lambda x: x.__setitem__(x[:, 0, 0] > 3, 1),
    "list": lambda x: x.__setitem__([0, 1], 5),
    "list by rows": lambda x: x.__setitem__(([0, 1],), x[[1, 0]]),
    "ellipsis": lambda x: x.__setitem__((..., -1), 9),
    "new dimension": lambda x: x.__setitem__((None, 0), 9),
    "tensor": lambda x: x.__setitem__(torch.tensor([1]), 3),
}


@pytest.mark.parametrize("kind", ["unbacked", "backed"])
@pytest.mark.parametrize("name", BASIC)
def test_numbers_slices_none_and_ellipsis(name: str, kind: str) -> None:
    index = BASIC[name]

    def take(x: Any) -> Any:
        return x[index]

    program = traced(take, filled(4, 5, 6), kind=kind)
    for shape in SHAPES:
        agrees(take, program, filled(*shape))
    for shape in SMALL:
        check_run(take, program, filled(*shape))


@pytest.mark.parametrize("name", BASIC)
def test_at_small_sizes_a_basic_index_does_what_eager_does(name: str) -> None:
    index = BASIC[name]

    def take(x: Any) -> Any:
        return x[index]

    program = traced(take, filled(4, 5, 6))
    for shape in SMALL:
        agrees(take, program, filled(*shape))


@pytest.mark.parametrize("name", [*GATHERED, *MASKED])
def test_lists_tensors_and_masks(name: str) -> None:
    take = {**GATHERED, **MASKED}[name]
    program = traced(take, filled(4, 5, 6))
    for shape in SHAPES:
        agrees(take, program, filled(*shape))
    for shape in SMALL:
        check_run(take, program, filled(*shape))


@pytest.mark.parametrize("name", SET)
def test_assignments_change_the_same_elements(name: str) -> None:
    program = traced(SET[name], filled(4, 5, 6))
    for shape in SHAPES:
        agrees(SET[name], program, filled(*shape))
    for shape in SMALL:
        check_run(SET[name], program, filled(*shape))


def test_a_symbolic_index_may_be_negative_and_is_refused_outside() -> None:
    def take(x: Any, i: int) -> Any:
        return x[i], x[:, i], x[..., i, None]

    program = traced(take, filled(4, 4), 2)
    for n, i in itertools.product((1, 2, 3), range(-4, 4)):
        agrees(take, program, filled(n, n), i)


def test_an_index_that_is_data() -> None:
    def take(x: Any, at: Any) -> Any:
        i = at.item()
        return x[i], x[at], x[i:], x[:i]

    program = traced(take, filled(5, 2), torch.tensor(1))
    for n, i in itertools.product((0, 1, 4), range(-5, 6)):
        agrees(take, program, filled(n, 2), torch.tensor(i))


def test_an_assignment_at_a_symbolic_place() -> None:
    def put(x: Any, at: Any) -> Any:
        x[..., at.item()] = 7
        x[at.item()] = x[0]
        return x

    program = traced(put, filled(4, 4), torch.tensor(1))
    for n, i in itertools.product((1, 2, 3), range(-4, 4)):
        agrees(put, program, filled(n, n), torch.tensor(i))


def test_symbolic_bounds_of_any_sign() -> None:
    def take(x: Any, a: int, b: int) -> Any:
        return x[a:b], x[:, a:], x[:, :b], x[::2, a:b]

    program = traced(take, filled(4, 4), 1, 3)
    for n, a, b in itertools.product((0, 1, 3), range(-4, 5), range(-4, 5)):
        agrees(take, program, filled(n, n), a, b)


def test_a_symbolic_step() -> None:
    def take(x: Any, step: int) -> Any:
        return x[::step]

    program = traced(take, filled(4), 1)
    for n, step in itertools.product((0, 1, 5), (-1, 0, 1, 2, 7)):
        agrees(take, program, filled(n), step)


def test_a_place_outside_is_refused_at_run_time_at_the_latest() -> None:
    program = traced(lambda x: x[2], filled(4))
    with pytest.raises(Exception, match="out of bounds"):
        program(filled(2))
    with pytest.raises(DimError, match="out of bounds"):
        traced(lambda x: x.new_zeros(2)[2], filled(4))


def test_too_many_indices() -> None:
    with pytest.raises(DimError, match="too many indices"):
        traced(lambda x: x[0, 0, 0], filled(2, 2))


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", [[[0, 1], [1, 0]], [0, slice(1, None)], [None, 0], [..., 0]])
def test_a_list_of_indices_is_a_tuple_of_them(index: Any) -> None:
    def take(x: Any) -> Any:
        return x[index]

    agrees(take, traced(take, filled(4, 5)), filled(3, 3))


def test_a_scalar_tensor_gives_a_view() -> None:
    def change(x: Any, i: Any) -> Any:
        before = x.sum().item()
        x[i].add_(1)
        return x, x.sum() - before

    program = traced(change, filled(4, 3), torch.tensor(1))
    for i in range(-4, 4):
        agrees(change, program, filled(3, 2), torch.tensor(i))


def test_what_is_no_index() -> None:
    with pytest.raises((UnsupportedError, TypeError, IndexError)):
        traced(lambda x: x["a"], filled(2))
    with pytest.raises(DimError, match="indices"):
        traced(lambda x: x[torch.tensor([0.5])], filled(2))


def test_a_value_that_does_not_fit_is_refused() -> None:
    def put(x: Any, y: Any) -> Any:
        x[1:] = y
        return x

    program = traced(put, filled(4), filled(3))
    for n, m in itertools.product(range(1, 5), range(1, 4)):
        check_run(put, program, filled(n), filled(m))
    assert isinstance(outcome(program, (filled(4), filled(2))), Exception)


def test_narrow_counts_a_negative_start_from_the_end() -> None:
    def part(x: torch.Tensor, start: int, length: int) -> torch.Tensor:
        return torch.narrow(x, 0, start, length)

    program = traced(part, filled(6), 1, 2)
    served = [
        check_run(part, program, filled(n), start, length)
        for n in (0, 1, 4, 6)
        for start in range(-7, 8)
        for length in (0, 1, 2, 6)
    ]
    wanted = [
        max(start, start + n if start < 0 else 0) + length <= n
        for n in (0, 1, 4, 6)
        for start in range(-7, 8)
        for length in (0, 1, 2, 6)
        if -n <= start <= n
    ]
    assert sum(served) == sum(wanted)
