"""Programs that write in place, through `out=`, and by assignment to an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from anyshape.trace import capture
from tests.differential.agree import KINDS
from tests.differential.memory import (
    Programs,
    check,
    indexed,
    masked,
    matrix,
    pair,
)

if TYPE_CHECKING:
    Tensor = torch.Tensor

program = Programs()


# ---------------------------------------------------------------------- in place


@program(matrix)
def add_in_place(x: Tensor) -> Any:
    return x.add_(1) * 2


@program(pair)
def plus_equals(x: Tensor, y: Tensor) -> Any:
    x += y
    x *= 2
    x -= 1
    x /= 3
    return x


@program(matrix)
def plus_equals_on_a_result(x: Tensor) -> Any:
    y = x * 2
    z = y
    y += 1
    return y, z


@program(matrix)
def zero_in_place(x: Tensor) -> Any:
    y = x.clone()
    x.zero_()
    return y, x


@program(matrix)
def fill_in_place(x: Tensor) -> Any:
    x.fill_(2.5)
    return x.sum()


@program(pair)
def copy_in_place(x: Tensor, y: Tensor) -> Any:
    x.copy_(y)
    y.mul_(2)
    return x, y


@program(pair)
def copy_a_row(x: Tensor, y: Tensor) -> Any:
    x.copy_(y[0])
    return x


@program(matrix)
def many_in_place(x: Tensor) -> Any:
    x.relu_().sqrt_().clamp_(0, 1).neg_().exp_().tanh_()
    return x


@program(pair)
def lerp_in_place(x: Tensor, y: Tensor) -> Any:
    return x.lerp_(y, 0.5), x.addcmul_(x, y, value=2)


@program(masked)
def masked_fill(x: Tensor, mask: Tensor) -> Any:
    x.masked_fill_(mask, 0.0)
    return x + 1


@program(masked)
def masked_assignment(x: Tensor, mask: Tensor) -> Any:
    x[mask] = 0.0
    return x


@program(masked)
def masked_assignment_of_values(x: Tensor, mask: Tensor) -> Any:
    x[mask] = x[mask] * 2
    return x


@program(matrix)
def functional_in_place(x: Tensor) -> Any:
    return torch.nn.functional.relu(x, inplace=True), torch.nn.functional.dropout(x, 0.0)


@program(matrix)
def triangle_in_place(x: Tensor) -> Any:
    return x.tril_().triu_(-1)


@program(matrix)
def cumulative_in_place(x: Tensor) -> Any:
    return x.cumsum_(0), x


@program(matrix)
def random_in_place(x: Tensor) -> Any:
    x.uniform_()
    y = x.clone().normal_()
    return x, y, torch.rand_like(x)


@program(pair)
def integer_into_float(x: Tensor, y: Tensor) -> Any:
    x += (y > 0).long()
    return x


# ---------------------------------------------------------------------- out=


@program(pair)
def out_of_an_input(x: Tensor, y: Tensor) -> Any:
    return torch.add(x, y, out=y)


@program(pair)
def out_of_a_new_tensor(x: Tensor, y: Tensor) -> Any:
    z = torch.empty_like(x)
    torch.mul(x, y, out=z)
    return z, z.sum()


@program(pair)
def out_of_a_view(x: Tensor, y: Tensor) -> Any:
    z = torch.zeros(2, *x.shape)
    torch.add(x, y, out=z[1])
    return z


@program(matrix)
def out_that_grows(x: Tensor) -> Any:
    z = torch.empty(0)
    torch.exp(x, out=z)
    return z


@program(matrix)
def outs_of_max(x: Tensor) -> Any:
    values, places = x.new_empty(x.shape[0]), x.new_empty(x.shape[0], dtype=torch.long)
    torch.max(x, 1, out=(values, places))
    return values, places


@program(pair)
def out_of_cat(x: Tensor, y: Tensor) -> Any:
    z = x.new_empty(2 * x.shape[0], x.shape[1])
    torch.cat([x, y], out=z)
    return z


@program(matrix)
def out_of_a_maker_without_dimensions(x: Tensor) -> Any:
    z = x.sum()
    torch.zeros((), out=z)
    torch.full((x.shape[0],), 2.0, out=x.new_empty(0))
    return z, torch.ones(x.shape, out=x)


# ---------------------------------------------------------------------- setitem


@program(matrix)
def set_a_row(x: Tensor) -> Any:
    x[0] = 1.0
    return x


@program(matrix)
def set_a_column(x: Tensor) -> Any:
    x[:, -1] = x[:, 0]
    return x


@program(matrix)
def set_a_slice(x: Tensor) -> Any:
    x[1:, :2] = 0
    x[..., ::2] += 1
    return x * 1


@program(matrix)
def set_in_a_result(x: Tensor) -> Any:
    y = torch.zeros_like(x)
    y[:, 1:] = x[:, :-1]
    y[:, 0] = -1
    return y


@program(matrix)
def set_through_a_view(x: Tensor) -> Any:
    v = x.view(-1)
    v[0] = 5.0
    v[-1:] = 6.0
    return x


@program(matrix)
def set_through_a_transposed_view(x: Tensor) -> Any:
    x.t()[0] = 3.0
    return x, x.T


@program(indexed)
def set_by_index(x: Tensor, i: Tensor, y: Tensor) -> Any:
    x[i] = y
    return x


@program(indexed)
def index_put(x: Tensor, i: Tensor, y: Tensor) -> Any:
    x.index_put_((i,), y, accumulate=True)
    return x


@program(indexed)
def index_methods(x: Tensor, i: Tensor, y: Tensor) -> Any:
    x.index_add_(0, i, y).index_copy_(0, i, y * 2)
    x.index_fill_(0, i[:1], 7.0)
    return x


@program(matrix)
def scatter_in_place(x: Tensor) -> Any:
    places = torch.zeros(x.shape[0], 1, dtype=torch.long)
    return x.scatter_(1, places, 9.0), x.scatter_add(1, places, x[:, :1])


@program(matrix)
def row_by_row(x: Tensor) -> Any:
    a, b = x[0], x[1]
    a += b
    b.copy_(a)
    return a, x


@program(matrix)
def set_with_broadcasting(x: Tensor) -> Any:
    x[:] = torch.arange(x.shape[1])
    return x


@pytest.mark.parametrize("kind", KINDS)
@program.parametrize()
def test_program(fn: Any, make: Any, kind: str) -> None:
    check(fn, make, kind)


# ---------------------------------------------------------------------- ops without a row


@torch.library.custom_op("anyshape_mutation::bump", mutates_args=("x",))
def bump(x: torch.Tensor) -> None:
    x.add_(1)


@bump.register_fake
def _(x: torch.Tensor) -> None:
    return None


def through_hsplit(y: torch.Tensor) -> None:
    torch.hsplit(y, 2)[0].zero_()


def through_alias(y: torch.Tensor) -> None:
    torch.ops.aten.alias(y).zero_()


def by_keyword(y: torch.Tensor) -> None:
    bump(x=y)


def by_packet(y: torch.Tensor) -> None:
    torch.ops.anyshape_mutation.bump(y)


def by_foreach(y: torch.Tensor) -> None:
    torch._foreach_add_([y], 1)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize(
    "change", [through_hsplit, through_alias, by_keyword, by_packet, by_foreach]
)
def test_counts_before_and_after_a_mutation_differ(change: Any, rows: int) -> None:
    """A symbol for the data of a tensor does not outlive a change of the data."""

    def f(x: torch.Tensor) -> Any:
        y = x * 1
        before = y.nonzero().shape[0]
        change(y)
        return before, y.nonzero().shape[0], y

    example = torch.tensor([[1, 0, 2, 3], [0, 5, 0, 1]])
    captured = capture(f, (example,), dynamic=lambda s: "unbacked" if s.dim == 0 else "static")
    x = torch.tensor([[1, 0, 2, 3]]).repeat(rows, 1)
    got, want = captured(x), f(x)
    assert got[:2] == want[:2]
    assert torch.equal(got[2], want[2])
