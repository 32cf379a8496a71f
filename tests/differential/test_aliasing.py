"""Programs that write to memory which others see: views, inputs that share, state of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from anyshape.trace import capture
from tests.differential.agree import KINDS, Dynamic
from tests.differential.memory import (
    B,
    Programs,
    check,
    matrix,
    nested,
    overlapping,
    pair,
    square,
    twice,
    view_and_base,
)

if TYPE_CHECKING:
    Tensor = torch.Tensor

program = Programs()


# ---------------------------------------------------------------------- views


@program(matrix)
def view_of_an_input(x: Tensor) -> Any:
    return x.view(-1), x[0], x.t(), x.unsqueeze(0), x.narrow(1, 1, 1)


@program(matrix)
def view_of_a_view(x: Tensor) -> Any:
    v = x[1:].t().unsqueeze(0)
    v.mul_(2)
    w = v[0, 0]
    w.add_(10)
    return x, v, w


@program(matrix)
def detached(x: Tensor) -> Any:
    y = x.detach()
    y.add_(1)
    return x, y


@program(square)
def diagonal(x: Tensor) -> Any:
    x.diagonal().fill_(1.0)
    return x, x.diagonal()


@program(square)
def fill_diagonal(x: Tensor) -> Any:
    return x.fill_diagonal_(2.0)


@program(matrix)
def through_as_strided(x: Tensor) -> Any:
    v = x.as_strided((x.shape[0],), (x.shape[1],))
    v.zero_()
    return x, v


@program(matrix)
def through_expand(x: Tensor) -> Any:
    column = x[:, :1]
    wide = column.expand(-1, 4)
    column.add_(1)
    return wide, x


@program(matrix)
def through_chunks(x: Tensor) -> Any:
    first, second = x.view(-1).chunk(2)
    first.zero_()
    second.add_(1)
    left, right = x.split([1, x.shape[1] - 1], 1)
    left.add_(2)
    right.mul_(3)
    return x, left


@program(matrix)
def through_unbind(x: Tensor) -> Any:
    y = x.new_zeros(2, x.shape[1])
    a, b = y.unbind(0)
    a.add_(x[0])
    b.copy_(a * 2)
    return y


@program(matrix)
def swap_of_rows(x: Tensor) -> Any:
    x[0], x[1] = x[1].clone(), x[0].clone()
    return x


@program(matrix)
def swap_of_views_without_copies(x: Tensor) -> Any:
    x[0], x[1] = x[1], x[0]
    return x


@program(matrix)
def reshape_shares(x: Tensor) -> Any:
    y = x.reshape(-1)
    y.add_(1)
    return x, y


@program(matrix)
def reshape_copies(x: Tensor) -> Any:
    y = x.t().reshape(-1)
    y.add_(1)
    return x, y


@program(matrix)
def flatten_shares(x: Tensor) -> Any:
    y = x.flatten()
    y[0] = 4.0
    return x, y, x.contiguous(), x.t().contiguous()


@program(matrix)
def to_shares(x: Tensor) -> Any:
    y = x.to(torch.float32)
    z = x.to(torch.float64)
    y.add_(1)
    z.add_(1)
    return x, y, z


@program(matrix)
def read_before_and_after(x: Tensor) -> Any:
    v = x[:, 0]
    before = v.sum()
    x.add_(1)
    return before, v.sum(), v


@program(matrix)
def complex_views(x: Tensor) -> Any:
    z = torch.complex(x, x)
    torch.view_as_real(z)[..., 0] = 1.0
    z.imag.add_(2)
    return z, z.real


@program(matrix)
def bits(x: Tensor) -> Any:
    y = x.view(torch.int32)
    y.bitwise_and_(0x7FFFFFFF)
    return x


# ---------------------------------------------------------------------- metadata in place


@program(matrix)
def unsqueeze_in_place(x: Tensor) -> Any:
    y = x.clone()
    y.unsqueeze_(0)
    z = y.squeeze_(0)
    return y, z, y.shape[0]


@program(matrix)
def transpose_in_place(x: Tensor) -> Any:
    y = x * 1
    y.t_()
    y[0] += 1
    return y, y.shape[0]


@program(matrix)
def transpose_in_place_of_a_view(x: Tensor) -> Any:
    y = x[:, 1:]
    y.transpose_(0, 1)
    y.zero_()
    return x, y


# ---------------------------------------------------------------------- inputs


@program(matrix)
def an_input_is_returned(x: Tensor) -> Any:
    return x


@program(matrix)
def an_input_is_returned_twice(x: Tensor) -> Any:
    x.add_(1)
    return x, x


@program(matrix)
def nothing_is_returned(x: Tensor) -> Any:
    x.mul_(2)


@program(twice)
def one_tensor_given_twice(x: Tensor, y: Tensor) -> Any:
    x.add_(1)
    return y * 2, x is y


@program(overlapping)
def neighbours(x: Tensor, y: Tensor) -> Any:
    x.add_(1)
    y.mul_(2)
    return x + y


@program(view_and_base)
def inputs_that_share(x: Tensor, y: Tensor) -> Any:
    x.add_(1)
    y.mul_(2)
    x.add_(1)
    return x * 1, y * 1


@program(nested)
def inputs_in_containers(tree: Any) -> Any:
    tree["a"].add_(tree["b"][0])
    return {"sum": tree["a"].sum(), "same": tree["b"]}


@program(pair)
def swapped_inputs(x: Tensor, y: Tensor) -> Any:
    return y, x


@pytest.mark.parametrize("kind", KINDS)
@program.parametrize()
def test_program(fn: Any, make: Any, kind: str) -> None:
    check(fn, make, kind)


# ---------------------------------------------------------------------- state of modules


class Counter(nn.Module):
    """Counts its calls and keeps a running sum in its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: Tensor) -> Any:
        self.calls += 1
        self.total.mul_(0.5).add_(x.sum(0))
        self.total[0] = 1.0
        return x * self.total, self.total


@pytest.mark.parametrize("kind", KINDS)
def test_buffers_that_the_forward_changes(kind: str) -> None:
    module, twin = Counter(), Counter()
    captured = capture(module, (torch.randn(B, 4),), dynamic=Dynamic(kind, {B: {}}))
    assert module.calls == 0
    assert not module.total.any()
    for n in (2, 3, 7):
        x = torch.randn(n, 4)
        actual, expected = captured(x), twin(x)
        torch.testing.assert_close(actual, expected)
        assert actual[1] is module.total
        torch.testing.assert_close(dict(module.named_buffers()), dict(twin.named_buffers()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_from_outside_is_written_to(kind: str) -> None:
    log = torch.zeros(4)

    def fn(x: Tensor) -> Tensor:
        log.add_(x.sum(0))
        log[0] += 1
        return x + log

    captured = capture(fn, (torch.randn(B, 4),), dynamic=Dynamic(kind, {B: {}}))
    assert not log.any()
    x = torch.randn(6, 4)
    expected = x.sum(0)
    expected[0] += 1
    torch.testing.assert_close(captured(x), x + expected)
    torch.testing.assert_close(log, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_parameter_is_updated_without_gradients(kind: str) -> None:
    module, twin = nn.Linear(4, 2), nn.Linear(4, 2)
    twin.load_state_dict(module.state_dict())

    def step(module: nn.Module, x: Tensor) -> Any:
        y = module(x)
        with torch.no_grad():
            module.weight.mul_(0.5)
            module.bias -= 1
        return y, module(x)

    captured = capture(
        lambda x: step(module, x), (torch.randn(B, 4),), dynamic=Dynamic(kind, {B: {}})
    )
    torch.testing.assert_close(module.state_dict(), twin.state_dict())
    x = torch.randn(5, 4)
    torch.testing.assert_close(captured(x), step(twin, x))
    torch.testing.assert_close(module.state_dict(), twin.state_dict())


def test_what_eager_execution_refuses() -> None:
    weight = nn.Parameter(torch.randn(4))
    with pytest.raises(RuntimeError, match="leaf"):
        capture(lambda x: weight.add_(x.sum()), (torch.randn(B, 4),))
    with pytest.raises(RuntimeError):
        capture(lambda x: x.add_(torch.randn(2, B, 4)), (torch.randn(B, 4),))
    with pytest.raises(RuntimeError, match="cast"):
        capture(lambda x: x.add_(0.5), (torch.ones(B, dtype=torch.long),))
    with pytest.raises(RuntimeError):
        capture(lambda x: x[0].expand(4, -1).add_(1), (torch.randn(B, 4),))(torch.randn(B, 4))
