"""Equal calls give equal values, and only as long as nothing changes one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.trace import capture
from anyshape.trace import tracer as tracer_module
from anyshape.trace.graph import numbering
from anyshape.trace.graph.numbering import first_equal

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.trace.tracer import Tracer


def twice(x: torch.Tensor) -> Any:
    a, b = x * 2, x * 2
    return a.sum().item(), b.sum().item()


def changed_apart(x: torch.Tensor) -> Any:
    a, b = x * 2, x * 2
    a.add_(1)
    b.mul_(3)
    return a.sum().item(), b.sum().item()


def changed_between(x: torch.Tensor) -> Any:
    a = x * 2
    part = a[0]
    before = part.item()
    a.add_(1)
    return before, part.item(), a[0].item()


def under_autocast(x: torch.Tensor) -> Any:
    m = torch.outer(x, x) / 7
    a = (m @ m).sum().item()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        b = (m @ m).sum().item()
    return a, b


def under_another_dtype(x: torch.Tensor) -> Any:
    a = (x / 7).sum().item()
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    b = (x / 7).sum().item()
    torch.set_default_dtype(before)
    return a, b


def parts(x: torch.Tensor) -> Any:
    return [n.item() for n in (*x.unbind(), *x.unbind())]


def parts_changed(x: torch.Tensor) -> Any:
    first, second = x.clone().unbind(), x.clone().unbind()
    second[1].add_(5)
    return [n.item() for n in (*first, *second)]


def behind_the_back(x: torch.Tensor, y: torch.Tensor) -> Any:
    part = x[0]
    before = part.item()
    y.add_(1)
    return before, part.item(), x[0].item()


ONE = torch.tensor([3, 5, 11])
REAL = torch.tensor([3.0, 5.0, 11.0])
PROGRAMS: tuple[tuple[Callable[..., Any], torch.Tensor], ...] = (
    (twice, ONE),
    (changed_apart, ONE),
    (changed_between, ONE),
    (under_autocast, REAL),
    (under_another_dtype, ONE),
    (parts, ONE),
    (parts_changed, ONE),
)


def check(program: Callable[..., Any], x: torch.Tensor) -> None:
    captured = capture(program, (x,))
    assert captured(x.clone()) == program(x.clone())


@pytest.mark.parametrize(("program", "x"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_a_program_gives_what_eager_execution_gives(program: Any, x: torch.Tensor) -> None:
    check(program, x)


def test_equal_calls_need_one_symbol() -> None:
    assert len(capture(twice, (ONE,)).tracer.env.symbols) == 2  # with the size of x
    assert len(capture(parts, (ONE,), dynamic="static").tracer.env.symbols) == 3


def test_inputs_may_share_memory() -> None:
    captured = capture(behind_the_back, (ONE.clone(), ONE.clone()))
    one, other = ONE.clone(), ONE.clone()
    assert captured(one, one) == behind_the_back(other, other) == (3, 4, 4)


def test_a_numbering_that_forgets_mutations_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(tracer: Tracer, value: Any) -> Any:
        return value if value.node is None else first_equal(tracer, value.node, value)

    for module in (numbering, tracer_module):
        monkeypatch.setattr(module, "number", forgetful)
    with pytest.raises(AssertionError):
        check(changed_apart, ONE)
