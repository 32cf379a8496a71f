"""The input contract: inputs that the program was not traced for are refused, with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import config
from anyshape.errors import AnyshapeError, ArgumentError, ConstraintError
from anyshape.trace import capture


def f(x: torch.Tensor, k: int = 2, flag: bool = True) -> Any:
    return x * k if flag else x


@pytest.fixture(scope="module")
def captured() -> Any:
    return capture(
        f, (torch.randn(3, 4), 2, True), dynamic=lambda s: "backed" if s.dim == 0 else "static"
    )


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((torch.randn(3, 4),), ArgumentError, "another structure"),
        (([1.0], 2, True), ArgumentError, "another structure"),
        (
            (3.0, 2, True),
            ArgumentError,
            "x is float; the program was traced for torch.float32 of rank 2",
        ),
        (
            (torch.randn(3, 4).double(), 2, True),
            ConstraintError,
            r"x.dtype is torch.float64; .* torch.float32",
        ),
        (
            (torch.randn(3), 2, True),
            ConstraintError,
            r"x.dim\(\) is 1; .* for 2",
        ),
        (
            (torch.randn(3, 4, device="meta"), 2, True),
            ConstraintError,
            r"x.device is meta; .* cpu",
        ),
        ((torch.randn(3, 5), 2, True), ConstraintError, r"x\.size\(1\) is 5; .* traced for 4"),
        ((torch.randn(3, 4), 3, True), ConstraintError, "k is 3; the program was traced for 2"),
        (
            (torch.randn(3, 4), True, True),
            ArgumentError,
            "k is bool; the program was traced for int",
        ),
        ((torch.randn(3, 4), 2, False), ConstraintError, "flag is False"),
        ((torch.randn(1, 4), 2, True), ConstraintError, r"a guard fails: 2 <= x\.size\(0\)"),
    ],
)
def test_what_is_refused(captured: Any, args: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        captured(*args)


def test_what_passes(captured: Any) -> None:
    for n in (2, 3, 11):
        x = torch.randn(n, 4)
        assert torch.equal(captured(x, 2, True), x * 2)


def test_inputs_that_were_one_tensor_must_be_one() -> None:
    both = capture(lambda a, b: a + b, (x := torch.randn(3), x), dynamic="backed")
    y = torch.randn(4)
    assert torch.equal(both(y, y), y + y)
    with pytest.raises(ConstraintError, match=r"b is another tensor; .* for the same tensor as a"):
        both(y, torch.randn(4))


def test_the_layout_is_checked_if_the_program_asked_for_it() -> None:
    def asks(x: torch.Tensor) -> Any:
        return x + 1 if x.is_contiguous() else x - 1

    def asks_not(x: torch.Tensor) -> Any:
        return x + 1

    x = torch.randn(3, 4)
    with pytest.raises(ConstraintError, match="the layout of x is strides"):
        capture(asks, (x,), dynamic="backed")(torch.randn(4, 3).t())
    strided = torch.randn(4, 3).t()
    assert torch.equal(capture(asks_not, (x,), dynamic="backed")(strided), strided + 1)
    again = capture(asks, (strided,), dynamic="backed")
    other = torch.randn(5, 7).t()
    assert torch.equal(again(other), other - 1)


def test_requires_grad_is_checked_if_the_program_asked_for_it() -> None:
    def asks(x: torch.Tensor) -> Any:
        return x + 1 if x.requires_grad else x - 1

    captured = capture(asks, (torch.randn(3),), dynamic="backed")
    with pytest.raises(ConstraintError, match=r"requires_grad is True"):
        captured(torch.randn(3, requires_grad=True))


def test_the_default_dtype_is_checked() -> None:
    captured = capture(lambda x: x + torch.ones(1), (torch.randn(3),), dynamic="backed")
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(ConstraintError, match="default dtype"):
            captured(torch.randn(3, dtype=torch.float32))
    finally:
        torch.set_default_dtype(torch.float32)


def test_nan_and_odd_values_are_compared() -> None:
    nan = float("nan")
    assert capture(lambda x, v: x, (torch.ones(2), nan))(torch.ones(3), nan) is not None
    captured = capture(lambda x, v: x * v, (torch.ones(2), 2j))
    with pytest.raises(ConstraintError, match="v is 3j"):
        captured(torch.ones(3), 3j)


def test_bad_arguments_of_capture() -> None:
    with pytest.raises(ArgumentError, match="dynamic cannot be 'some'"):
        capture(f, (torch.randn(3),), dynamic="some")
    with pytest.raises(ArgumentError, match="cannot be 'odd'"):
        capture(f, (torch.randn(3),), dynamic=lambda _: "odd")
    with pytest.raises(ArgumentError, match="layout"):
        capture(f, (torch.randn(3, 3).to_sparse(),))


def test_sizes_of_0_and_1_are_constants_by_policy_only() -> None:
    x = torch.randn(1, 5)
    assert capture(f, (x, 2, True), dynamic="backed").graph.inputs[0].meta.shape[0] == 1
    with config.patch(specialize_zero_one=False):
        free = capture(f, (x, 2, True), dynamic="backed")
    for n in (0, 1, 2, 7):
        assert free(torch.ones(n, 5), 2, True).shape == (n, 5)


def test_a_range_can_be_declared() -> None:
    captured = capture(
        f,
        (torch.randn(5, 4), 2, True),
        dynamic=lambda s: ("backed", {"min": 2, "max": 9}) if s.dim == 0 else "static",
    )
    with pytest.raises(AnyshapeError, match=r"x\.size\(0\) <= 9"):
        captured(torch.randn(10, 4), 2, True)
