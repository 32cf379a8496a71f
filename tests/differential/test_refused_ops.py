"""Programs that catch what Python raises: which side of the error a call takes is part of it.

Each program is compiled and exported at sizes on both sides, in two orders, and must do at every
size what eager execution does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
import torch

import anyshape

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = ([5, 3, 2, 0, 1, 4, 6, 5, 3], [0, 3, 5, 2, 1, 4, 6])


def caught(op: Callable[[int], Any], *errors: type[Exception]) -> Callable[..., Any]:
    """A program that adds what `op` gives for a size, and subtracts 1 where it raises."""

    def program(x: Any) -> Any:
        try:
            value = op(x)
        except errors:
            return x.sum() - 1
        return x.sum() + value

    return program


PROGRAMS = {
    "floor division": caught(lambda x: 6 // x.size(0), ZeroDivisionError),
    "floor division of a difference": caught(lambda x: 6 // (x.size(0) - 3), ZeroDivisionError),
    "modulo": caught(lambda x: 7 % (x.size(0) - 3), ZeroDivisionError),
    "divmod": caught(lambda x: sum(divmod(7, x.size(0) - 3)), ZeroDivisionError),
    "division": caught(lambda x: 7 / (x.size(0) - 3), ZeroDivisionError),
    "division of floats": caught(lambda x: 1.5 / ((x.size(0) - 3) * 0.5), ZeroDivisionError),
    "left shift": caught(lambda x: 1 << (x.size(0) - 3), ValueError),
    "right shift": caught(lambda x: 100 >> (x.size(0) - 3), ValueError),
    "power of zero": caught(lambda x: 0 ** (x.size(0) - 3), ZeroDivisionError),
    "power": caught(lambda x: 2 ** -(x.size(0) - 3), ZeroDivisionError),
    "root": caught(lambda x: math.sqrt(x.size(0) - 3), ValueError),
    "list": caught(lambda x: [1, 2, 3][x.size(0)], IndexError),
    "range": caught(lambda x: range(3)[x.size(0)], IndexError),
    "step of a range": caught(lambda x: len(range(0, 9, x.size(0) - 3)), ValueError),
    "index of a tensor": caught(lambda x: x[3], IndexError),
    "symbolic index": caught(lambda x: torch.arange(3)[x.size(0)], IndexError),
    "shape": caught(lambda x: x.shape[x.size(0)], IndexError),
    "dimension": caught(lambda x: x.sum(x.size(0) - 1).sum(), IndexError),
    "negative size": caught(lambda x: torch.zeros(x.size(0) - 3).numel(), RuntimeError),
    "sizes that differ": caught(lambda x: (x + torch.ones(4)).sum(), RuntimeError),
    "view": caught(lambda x: x.view(2, -1).size(1), RuntimeError),
    "check": caught(lambda x: torch._check(x.size(0) > 3) or 1, RuntimeError),
}


def outcome(fn: Callable[..., Any], n: int) -> Any:
    try:
        return fn(torch.arange(n) * 1.0)
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def agree(fn: Callable[..., Any], program: Callable[..., Any], sizes: list[int]) -> None:
    for n in sizes:
        expected, found = outcome(program, n), outcome(fn, n)
        assert type(found) is type(expected), (n, found, expected)
        if isinstance(expected, torch.Tensor):
            assert torch.equal(found, expected), (n, found, expected)
        else:
            assert found == expected, n


@pytest.mark.parametrize("sizes", ORDERS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str, sizes: list[int]) -> None:
    for dynamic in (None, True, "unbacked"):
        compiled = anyshape.compile(PROGRAMS[name], dynamic=dynamic)
        agree(compiled, PROGRAMS[name], sizes)
        assert compiled.eager_because is None


@pytest.mark.parametrize("sizes", ORDERS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_exported(name: str, sizes: list[int]) -> None:
    example = (torch.arange(sizes[0]) * 1.0,)
    spec = ({0: anyshape.Dim("n", max=6)},)  # some need its value: a variant for each
    exported = anyshape.export(PROGRAMS[name], example, dynamic_shapes=spec)
    agree(exported, PROGRAMS[name], sizes)


@pytest.mark.parametrize("name", ["floor division of a difference", "left shift", "root"])
def test_an_error_that_nobody_catches_is_pythons(name: str) -> None:
    op = PROGRAMS[name].__closure__[1].cell_contents  # type: ignore[index]
    program = lambda x: x + op(x)  # noqa: E731
    compiled = anyshape.compile(program, dynamic=True)
    exported = anyshape.export(program, (torch.ones(5),), dynamic_shapes=({0: "n"},))
    for n in (5, 3, 2, 4, 3, 6):
        x = torch.ones(n)
        try:
            expected = program(x)
        except (ArithmeticError, ValueError) as e:
            with pytest.raises(type(e)):
                compiled(x)
            with pytest.raises(anyshape.ConstraintError, match=f"{type(e).__name__}: {e}"):
                exported(x)
        else:
            assert torch.equal(compiled(x), expected)
            assert torch.equal(exported(x), expected)


@pytest.mark.parametrize(
    ("op", "fine", "refused", "error"),
    [
        (lambda k: 6 // k, 2, 0, ZeroDivisionError),
        (lambda k: 6 % k, 4, 0, ZeroDivisionError),
        (lambda k: 6 / k, 4, 0, ZeroDivisionError),
        (lambda k: 1 << k, 4, -1, ValueError),
        (lambda k: torch.arange(3)[k], 2, 3, IndexError),
    ],
)
def test_a_value_from_data_is_asserted_with_pythons_error(
    op: Any, fine: int, refused: int, error: type[Exception]
) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x + op(x.sum().item())

    example = (torch.tensor([fine, 0]),)
    exported = anyshape.export(program, example, dynamic_shapes=({0: "n"},))
    assert torch.equal(exported(*example), program(*example))
    for fn in (exported, anyshape.compile(program, fullgraph=True)):
        with pytest.raises(error):
            fn(torch.tensor([refused, 0]))
    with pytest.raises(anyshape.RuntimeAssertError):
        exported(torch.tensor([refused, 0]))
