"""Indices that are surely below a size decide the size of `bincount`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[torch.Tensor], torch.Tensor]

SIZES = ((5, 6), (1, 2), (0, 3), (7, 7))


def experts(x: torch.Tensor) -> torch.Tensor:
    _, chosen = x.topk(2, -1)
    return torch.bincount(chosen.view(-1), minlength=x.shape[-1])


def rows(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.argmax(dim=0), minlength=x.shape[0])


def sorted_first(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.sort(-1).indices[:, 0].clone(), minlength=x.shape[1])


def remainders(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.long().abs().flatten() % 5, minlength=5)


def fewer(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.argmax(-1), minlength=1)


def changed(x: torch.Tensor) -> torch.Tensor:
    chosen = x.argmax(-1)
    chosen.add_(3)
    return torch.bincount(chosen, minlength=x.shape[1])


def values(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.long().abs().max(1)[0], minlength=x.shape[1])


def along_the_other(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(torch.sort(x, axis=0)[1].flatten(), minlength=x.shape[1])


def largest_of_the_other(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(torch.max(x, axis=0)[1], minlength=1)


@torch.library.custom_op("anyshape_bounds::argmax", mutates_args=())
def sevens(x: torch.Tensor) -> torch.Tensor:
    return torch.full((x.shape[0],), 7)


@sevens.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty((x.shape[0],), dtype=torch.int64)


def op_of_the_user(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(sevens(x), minlength=x.shape[1])


def gathered_into(x: torch.Tensor) -> torch.Tensor:
    chosen = x.argmax(-1)
    return torch.bincount(torch.where(chosen > 0, chosen, 9), minlength=x.shape[1])


def with_axis(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(torch.sort(x, axis=0).indices.flatten(), minlength=x.shape[0])


def export(fn: Program) -> anyshape.ExportedProgram:
    auto = {0: anyshape.Dim.AUTO, 1: anyshape.Dim.AUTO}
    return anyshape.export(fn, (torch.randn(5, 6) * 9,), dynamic_shapes=(auto,))


def check(fn: Program, program: anyshape.ExportedProgram) -> None:
    for size in SIZES:
        x = torch.randn(*size) * 9
        try:
            expected = fn(x)
        except (IndexError, RuntimeError):
            continue
        assert torch.equal(program(x), expected)


@pytest.mark.parametrize(
    "fn", [experts, rows, sorted_first, remainders, with_axis], ids=lambda f: f.__name__
)
def test_the_size_is_known(fn: Program) -> None:
    program = export(fn)
    assert not [s for s in program.symbols if s.startswith("u")]
    check(fn, program)


DECIDED_BY_THE_RUN = (
    fewer,
    changed,
    values,
    along_the_other,
    largest_of_the_other,
    op_of_the_user,
    gathered_into,
)


@pytest.mark.parametrize("fn", DECIDED_BY_THE_RUN, ids=lambda f: f.__name__)
def test_the_run_decides_the_size(fn: Program) -> None:
    program = export(fn)
    assert [s for s in program.symbols if s.startswith("u")]
    check(fn, program)
