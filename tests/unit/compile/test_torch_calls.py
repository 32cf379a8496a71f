"""Functions of torch that a trace replaces: mapped functions, operators, modes as two calls."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.wrap import wrap
from torch.autograd import forward_ad

from anyshape import UnsupportedError, compile
from anyshape.torch_compat.thread_state import ENTER_AUTOCAST, EXIT_AUTOCAST

FORMS = (
    lambda d, b, n: d[n],
    lambda d, b, n: d[:, n],
    lambda d, b, n: d[b, n],
    lambda d, b, n: d[n, n],
    lambda d, b, n: d[n, None],
    lambda d, b, n: d[..., n],
    lambda d, b, n: d[1, n],
    lambda d, b, n: d[n, 1],
    lambda d, b, n: d[b[0], n],
    lambda d, b, n: d[n, b],
    lambda d, b, n: d[n, :, b],
    lambda d, b, n: d[b, :, n],
    lambda d, b, n: d[b, 1:, n],
    lambda d, b, n: d[n, :, b[1]],
    lambda d, b, n: d[n, 1:, 1],
    lambda d, b, n: d[1, :, n],
    lambda d, b, n: d[b[1], :, n],
    lambda d, b, n: d[n, :, [1, 0]],
    lambda d, b, n: d[b[0]] + n,
)


@pytest.mark.parametrize("form", FORMS)
def test_an_index_of_each_example(form):
    def mapped(d, b, n):
        return torch.func.vmap(lambda n: form(d, b, n))(n)

    compiled = compile(mapped, fullgraph=True, dynamic=True)
    for last, count in ((4, 2), (2, 2), (5, 1), (3, 3)):
        d = torch.arange(6 * last).reshape(2, 3, last)
        args = d, torch.tensor([0, 1]), torch.arange(count) % 2
        assert torch.equal(compiled(*args), mapped(*args))


@pytest.mark.filterwarnings("ignore:Tensor.T is deprecated")
def test_a_transposed_number_is_itself():
    x = torch.randn(3)
    assert torch.equal(compile(lambda x: x.sum().T, fullgraph=True)(x), x.sum())


def test_an_operator_that_calls_a_function_is_traced_into():
    layer = torch.nn.Linear(3, 3)
    outer = torch.ones(3)

    def program(x):
        return wrap(lambda x: wrap(layer, x).cos() + outer, x)

    compiled = compile(program, fullgraph=True, dynamic=True)
    for rows in (2, 0, 1, 3):
        x = torch.randn(rows, 3)
        assert torch.equal(compiled(x), program(x))
    outer.add_(1)
    assert torch.equal(compiled(x), program(x))


def test_a_level_of_forward_differentiation_is_refused_or_runs_eagerly():
    def program(x):
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x * 2)
            return forward_ad.unpack_dual(dual.sin()).tangent + 1

    x = torch.randn(3)
    with pytest.raises(UnsupportedError, match="forward differentiation"):
        compile(program, fullgraph=True)(x)
    assert torch.equal(compile(program)(x), program(x))


def test_autocast_as_two_calls():
    def program(x):
        block = ENTER_AUTOCAST("cpu")
        y = x @ x
        EXIT_AUTOCAST(block)
        return y, x @ x

    compiled = compile(program, fullgraph=True, dynamic=True)
    for n in (2, 0, 1, 3):
        x = torch.randn(n, n)
        for found, expected in zip(compiled(x), program(x), strict=True):
            assert found.dtype is expected.dtype
            assert torch.equal(found, expected)
    assert not torch.is_autocast_enabled("cpu")


def test_operands_of_cond_that_eager_execution_refuses():
    def program(pred, x):
        return torch.cond(pred, lambda x, n: x + n, lambda x, n: x - n, (x, 1.0))

    args = torch.tensor(True), torch.ones(2)
    for run in (program, compile(program, fullgraph=True), compile(program)):
        with pytest.raises(RuntimeError, match="operands"):
            run(*args)
