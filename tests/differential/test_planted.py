"""A wrong rule is found: what the comparison with eager execution is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.errors import AnyshapeError
from anyshape.rules.dispatch.table import RULES, Rule
from anyshape.rules.shared.operand import meta_of
from anyshape.tensor import CONTIGUOUS, Layout, Meta
from anyshape.trace.tracer import ROWS
from tests.differential.agree import KINDS, agrees, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

B, S = 3, 5


def right(x: Any) -> Any:
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype, meta.layout)


def wrong_shape(x: Any) -> Any:
    meta = meta_of(x)
    return Meta((*meta.shape, 1), meta.dtype)


def frozen_shape(x: Any) -> Any:
    """Right at the sizes of the example alone."""
    return Meta((B, S), meta_of(x).dtype)


def swapped_shape(x: Any) -> Any:
    meta = meta_of(x)
    return Meta(meta.shape[::-1], meta.dtype)


def wrong_dtype(x: Any) -> Any:
    return Meta(meta_of(x).shape, torch.float64)


def wrong_strides(x: Any) -> Any:
    return Meta(meta_of(x).shape, meta_of(x).dtype, Layout(order=(1, 0)))


def wrong_gradient(x: Any) -> Any:
    meta = meta_of(x)
    return Meta(meta.shape, meta.dtype, CONTIGUOUS, meta.device, True)


WRONG = (wrong_shape, frozen_shape, swapped_shape, wrong_dtype, wrong_strides, wrong_gradient)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    compare("backed")  # as it is, and the table is there

    def put(function: Any) -> None:
        monkeypatch.setitem(RULES, "sigmoid", Rule("sigmoid", function))
        ROWS.clear()

    yield put
    ROWS.clear()


def program(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).sigmoid().sum()


def compare(kind: str) -> None:
    captured = trace(program, (torch.randn(B, S),), kind=kind, where=(B, S))
    for sizes in ((B, S), (4, 2)):
        agrees(captured, program, (torch.randn(sizes),))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", WRONG, ids=[f.__name__ for f in WRONG])
def test_a_wrong_rule_is_found(plant: Any, wrong: Any, kind: str) -> None:
    plant(wrong)
    with pytest.raises((AssertionError, AnyshapeError)):
        compare(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_rule_is_not(plant: Any, kind: str) -> None:
    plant(right)
    compare(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_mutation_is_found(kind: str) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.add_(1)
        return y + 1

    captured = trace(fn, (torch.randn(B, S),), kind=kind, where=(B, S))
    agrees(captured, fn, (torch.randn(B, S),))
    nodes = captured.graph.nodes
    del captured.__dict__["program"]
    nodes.pop(next(i for i, node in enumerate(nodes) if "add_" in str(node)))
    with pytest.raises(AssertionError):
        agrees(captured, fn, (torch.randn(B, S),))
