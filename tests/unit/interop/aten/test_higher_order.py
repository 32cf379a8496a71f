"""Calls that take functions: torch's higher-order ops, and the ops that transforms leave."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan

from anyshape import export
from anyshape.errors import UnsupportedError
from tests.unit.interop.aten.test_program import forms, need_equal

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, about its structures

WEIGHT = torch.randn(4)
SIZES = (3, 1, 2, 7)


def pick(test, then, other):
    """`torch.cond` without the compiler that torch wants for it in eager execution."""
    return then() if test else other()


def either(x, cond=pick):
    n, y = x.shape[0], x * 2
    return cond(
        x.sum() > 0,
        lambda: x.sin() * (n + 1) + y + WEIGHT,
        lambda: x - torch.tensor([1.0, 2, 3, 4]),
    )


def nested(x, cond=pick):
    def inner():
        return cond(x.max() > 1, lambda: x + 1, lambda: x - WEIGHT), 3

    return cond(x.sum() > 0, inner, lambda: (x * 3, 4))


def counted(x, cond=pick):
    n = (x > 0).sum().item()
    return cond(n > 3, lambda: (x + n)[:, 1:], lambda: (x - n)[:, :3])


@pytest.mark.parametrize("f", [either, nested, counted])
def test_cond(f):
    def traced(x):
        return f(x, torch.cond)

    program = export(traced, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    assert any(n.target is torch.ops.higher_order.cond for n in program.graph.nodes)
    made = forms(program)
    for n in SIZES:
        for sign in (1, -1):
            x = sign * torch.rand(n, 4) * 2
            for name, module in made.items():
                need_equal(module(x), f(x), name)


def doubled(x):
    i = 0
    while i < 5:
        i, x = i + 1, x * 2 + x.shape[0]
    return i, x


def mapped(x):
    y = x.sum(0)
    return torch.stack([row * y for row in x]), torch.stack([row.sum() for row in x])


def scanned(x):
    carry, rows = torch.zeros(4), []
    for row in x:
        rows.append(carry * row)
        carry = carry + row
    return carry, torch.stack(rows)


def of_doubled(x):
    step = lambda i, x: (i + 1, x * 2 + x.shape[0])  # noqa: E731  torch wants a function
    return torch.while_loop(lambda i, x: i < 5, step, (0, x))


def of_mapped(x):
    y = x.sum(0)
    return map_rows(lambda row: (row * y, row.sum()), x)


def of_scanned(x):
    return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)


def batched(x):
    return torch.func.vmap(lambda r, b: torch.softmax(r @ b, 0), in_dims=(0, None))(x, x.t() @ x)


def gradients(x):
    return torch.func.vmap(torch.func.grad(lambda r: (r**3).sum()))(x)


def pulled_back(x):
    out, pull = torch.func.vjp(lambda r: r.sin() * 2, x)
    return out, pull(x)


@pytest.mark.parametrize(
    ("f", "eager"),
    [
        (of_doubled, doubled),
        (of_mapped, mapped),
        (of_scanned, scanned),
        (batched, batched),
        (gradients, gradients),
        (pulled_back, pulled_back),
    ],
    ids=lambda f: f.__name__,
)
def test_loops_and_transforms(f, eager):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    made = forms(program)
    for n in SIZES:
        x = torch.randn(n, 4)
        for name, module in made.items():
            need_equal(module(x), eager(x), name)


def test_a_transform_that_depends_on_sizes_is_refused():
    def f(x):
        return torch._higher_order_ops.associative_scan(
            lambda a, b: a + b, x, 0, combine_mode="generic"
        )

    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},))
    with pytest.raises(UnsupportedError, match=r"associative_scan(.|\n)*depend on sizes"):
        program.to_torch()


def parts_of_one_tensor(x):
    first, last = x[0], x[-1]
    return first + last if x.sum() > 0 else first - last + x.T.sum()


def loop_over_parts(x):
    first, last = x[0], x[-1]
    while first.sum() < 3:
        first = first.abs() + 1 + last * 0
    return first


def parts_given(x):
    return scan(lambda c, r: (c + r[0], c * r[1]), x[0], (x, x.view(-1, 4)))[1]


@pytest.mark.parametrize("f", [parts_of_one_tensor, loop_over_parts, parts_given])
def test_operands_that_share_memory(f):
    program = export(f, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    for name, module in forms(program).items():
        for n in SIZES:
            for sign in (1, -1):
                x = sign * torch.rand(n, 4)
                need_equal(module(x), f(x), name)


def test_swapped_graphs_are_noticed():
    """The comparison finds a call that takes the wrong side."""

    def traced(x):
        return either(x, torch.cond)

    program = export(traced, (torch.randn(3, 4),), dynamic_shapes=({0: "n"},)).to_torch()
    node = next(n for n in program.graph.nodes if n.target is torch.ops.higher_order.cond)
    test, then, other, operands = node.args
    node.args = (test, other, then, operands)
    x = torch.ones(2, 4)
    with pytest.raises(AssertionError):
        need_equal(program.module()(x), either(x))


def without_gradients(x):
    with torch.no_grad():
        return x * 2 + 1


def under_autocast(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x[:, None] @ x[None]).sum(0).float()


@pytest.mark.parametrize("side", [without_gradients, under_autocast])
def test_functions_of_calls_change_modes(side):
    def f(x):
        return torch.cond(x.sum() > 0, side, torch.neg, (x,)) * 3

    made = export(f, (torch.ones(3),), dynamic_shapes=({0: "n"},)).to_torch()
    for name, module in forms(made).items():
        for x in [torch.full((n,), v) for n in (3, 0, 1) for v in (2.0, -2.0)]:
            need_equal(module(x), (side(x) if x.sum() > 0 else -x) * 3, name)
