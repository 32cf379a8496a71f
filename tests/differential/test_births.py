"""Tensors that a program makes where the tracer does not see it are new on every call."""

from __future__ import annotations

import gc
import io
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

import anyshape
from anyshape.errors import UnsupportedError
from anyshape.export import export, load
from tests.differential.every_mode import LOWERED, Program, check, ones

if TYPE_CHECKING:
    from pathlib import Path

make_tensor = torch.tensor
from_array = torch.from_numpy
THREE = ones(3, 3, 4)


def added(make: Any, traced: bool = True) -> Program:
    """A program that adds to what `make` makes."""

    def made() -> Any:
        def fn(x: Any) -> Any:
            b = make(x)
            b += x.sum()
            return b * 1, b

        return fn

    return Program(made, THREE, traced)


def zero() -> Any:
    return np.zeros(1, dtype=np.float32)


def looped() -> Any:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        while b.sum() < 20:
            b += x.sum()
        return b * 1

    return fn


def branched() -> Any:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        if x.sum() > 1:
            b += x.sum()
        c = torch.Tensor([1.0])
        if x.sum() > 2:
            c += b
        return b * 1, c

    return fn


def array_is_read_again() -> Any:
    outer = np.zeros(2, dtype=np.float32)

    def fn(x: Any) -> Any:
        shared = torch.from_numpy(outer) + x.sum()
        return torch.tensor(outer) + x.sum(), x.new_tensor(outer), shared

    def prepare(i: int) -> None:
        outer[:] = i

    return fn, prepare


def array_is_reused() -> Any:
    def fn(x: Any) -> Any:
        a, made = zero(), []
        for i in range(3):
            a[0] = i
            made.append(torch.tensor(a) + x.sum())
        return made

    return fn


def array_is_written_later() -> Any:
    def fn(x: Any) -> Any:
        a = zero()
        y = torch.from_numpy(a) + x.sum()
        a[0] = 5
        return y, torch.from_numpy(a) + 1

    return fn


def array_is_shared() -> Any:
    outer = zero()

    def fn(x: Any) -> Any:
        b = torch.as_tensor(outer)
        b += x.sum()
        return b * 1

    return fn


def over_a_weight() -> Any:
    weight = torch.ones(1)

    def fn(x: Any) -> Any:
        b = torch.Tensor(weight)
        b += x.sum()
        return b * 1, weight * 1

    return fn


def two_over_one_memory() -> Any:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        p = nn.Parameter(b, requires_grad=False)
        b += x.sum()
        return p * 1

    return fn


def collected() -> Any:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        gc.collect()
        b += x.sum()
        return b * 1

    return fn


def views_of_a_weight() -> Any:
    weight = nn.Parameter(torch.arange(3.0)[:, None])

    def fn(x: Any) -> Any:
        return x.sum() * weight.T, weight.mT + 1, weight.data + 1

    def prepare(i: int) -> None:
        weight.data = torch.arange(3.0)[:, None] + i

    return fn, prepare


def data_in_place() -> Any:
    weight = torch.zeros(1)

    def fn(x: Any) -> Any:
        weight.data += x.sum()
        weight.data.mul_(2)
        return weight * 1

    return fn


def default_argument() -> Any:
    def fn(x: Any, b: Any = torch.Tensor([0.0])) -> Any:  # noqa: B008  kept over all calls
        b += x.sum()
        return b * 1

    return fn


PROGRAMS = {
    "Tensor": added(lambda _: torch.Tensor([0.0])),
    "FloatTensor": added(lambda _: torch.FloatTensor([0.0])),
    "LongTensor": added(lambda _: torch.LongTensor([0]).float()),
    "alias": added(lambda _: make_tensor([0.0])),
    "new": added(lambda x: x.new([0.0])),
    "view": added(lambda _: torch.Tensor([1.0, 2.0])[:1]),
    "parameter": added(lambda _: nn.Parameter(torch.Tensor([0.0]), requires_grad=False)),
    "tensor of array": added(lambda _: torch.tensor(zero())),
    "from_numpy": added(lambda _: from_array(zero()), traced=False),
    "as_tensor": added(lambda _: torch.as_tensor(zero()), traced=False),
    "frombuffer": added(lambda _: torch.frombuffer(bytearray(4), dtype=torch.float32), False),
    "from_dlpack": added(lambda _: torch.from_dlpack(zero()), traced=False),
    "loop": Program(looped, THREE),
    "branch": Program(branched, THREE),
    "array read again": Program(array_is_read_again, THREE),
    "array reused": Program(array_is_reused, THREE, traced=False),
    "array written later": Program(array_is_written_later, THREE, traced=False),
    "array shared": Program(array_is_shared, THREE, traced=False),
    "over a weight": Program(over_a_weight, THREE, traced=False),
    "two over one memory": Program(two_over_one_memory, THREE, traced=False),
    "collected": Program(collected, THREE),
    "views of a weight": Program(views_of_a_weight, THREE),
    "data in place": Program(data_in_place, THREE),
    "default argument": Program(default_argument, THREE),
}


@pytest.mark.parametrize("mode", LOWERED, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_made_inside_is_new_on_every_call(name: str, mode: Any) -> None:
    check(PROGRAMS[name], mode)


def test_a_saved_program_makes_it_anew(tmp_path: Path) -> None:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        b += x.sum()
        return b

    export(fn, (torch.ones(2),), dynamic_shapes=({0: "n"},)).save(tmp_path / "p.anyshape")
    program = load(tmp_path / "p.anyshape")
    assert [program(torch.ones(n)).item() for n in (2, 2, 3)] == [2.0, 2.0, 3.0]


def test_it_is_found_where_the_user_has_frozen_objects() -> None:
    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        b += x.sum()
        return b + early

    gc.freeze()
    early = torch.ones(1)
    try:
        compiled = anyshape.compile(fn)
        assert [compiled(torch.ones(2)).item() for _ in range(3)] == [3.0, 3.0, 3.0]
        early.fill_(5)
        assert compiled(torch.ones(2)).item() == 7.0
    finally:
        gc.unfreeze()


def test_two_traces_at_once_know_their_own() -> None:
    def inner(x: Any) -> Any:
        return x * torch.Tensor([2.0])

    def fn(x: Any) -> Any:
        b = torch.Tensor([0.0])
        other = threading.Thread(target=lambda: export(inner, (torch.ones(2),)))
        other.start()  # all objects grow old in there
        other.join()
        b += x.sum()
        return b

    compiled = anyshape.compile(fn)
    assert [compiled(torch.ones(2)).item() for _ in range(3)] == [2.0, 2.0, 2.0]


def test_the_refusal_says_what_to_do() -> None:
    def fn(x: Any) -> Any:
        return torch.frombuffer(io.BytesIO(bytes(8)).getbuffer(), dtype=torch.float32)

    with pytest.raises(UnsupportedError, match="memory that is not torch's"):
        export(fn, (torch.ones(2),))
