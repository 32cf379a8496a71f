"""Broadcasting at sizes of 0, 1, 2 and primes, and at equal ones."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from anyshape.errors import ShapeError
from anyshape.rules.shared.broadcast import broadcast
from anyshape.trace import capture
from tests.unit.rules.program import check_run, traced

SIZES = (0, 1, 2, 3, 5, 7)


def add(x: Any, y: Any) -> Any:
    return x + y


def test_known_sizes_broadcast_as_in_torch() -> None:
    shapes = [s for rank in range(3) for s in itertools.product((0, 1, 2, 3), repeat=rank)]
    for a, b in itertools.product(shapes, shapes):
        try:
            expected = tuple(torch.broadcast_shapes(a, b))
        except RuntimeError:
            with pytest.raises(ShapeError, match="broadcast"):
                broadcast(a, b)
            continue
        assert broadcast(a, b) == expected


def test_two_sizes_that_only_the_run_knows_must_be_equal() -> None:
    program = traced(add, torch.ones(3), torch.ones(5))
    for n, m in itertools.product(SIZES, SIZES):
        assert check_run(add, program, torch.ones(n), torch.ones(m)) == (n == m)


@pytest.mark.parametrize("m", SIZES)
def test_a_size_that_only_the_run_knows_against_a_known_one(m: int) -> None:
    program = capture(
        add,
        (torch.ones(3), torch.ones(m)),
        dynamic=lambda spot: "unbacked" if spot.leaf == 0 else "static",
    )
    for n in SIZES:
        assert check_run(add, program, torch.ones(n), torch.ones(m)) == (m in (1, n))


def test_a_known_one_stretches_at_every_size() -> None:
    program = traced(lambda x: x + x.new_ones(1, 1), torch.ones(3, 5))
    for n, m in itertools.product(SIZES, SIZES):
        assert check_run(lambda x: x + 1, program, torch.ones(n, m))


def test_one_size_meets_itself_at_every_size() -> None:
    def outer(x: Any) -> Any:
        return (x[:, None] + x[None, :]) * x

    program = traced(outer, torch.ones(4))
    for n in SIZES:
        assert check_run(outer, program, torch.ones(n))


def test_backed_sizes_are_as_their_example() -> None:
    for example in ((3, 3), (3, 1), (1, 3)):
        program = traced(add, *map(torch.ones, example), kind="backed")
        runs = [check_run(add, program, torch.ones(n), torch.ones(m)) for n, m in [(2, 2), (5, 5)]]
        assert any(runs) == (example == (3, 3))
        assert check_run(add, program, *map(torch.ones, example))


def test_the_message_names_both_shapes() -> None:
    program = traced(add, torch.ones(3, 2), torch.ones(5, 2))
    with pytest.raises(Exception, match="broadcast") as caught:
        program(torch.ones(3, 2), torch.ones(4, 2))
    assert "x" in str(caught.value)
    assert "y" in str(caught.value)
