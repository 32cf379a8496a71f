"""What is relied on of AOTAutograd's wrappers and of the code that they wrap."""

from __future__ import annotations

import pytest
import torch
from torch._inductor import config as inductor_config

from anyshape.torch_compat import compiled_halves, fake_tensor, inductor_compiler


@pytest.fixture(scope="module", autouse=True)
def no_caches():
    """A graph from a cache would not be compiled."""
    with inductor_config.patch(force_disable_caches=True):
        yield


def halves_of(function, *, grad):
    """The halves of a function of a matrix with any number of rows, and its compiled form."""
    graph = torch.fx.Graph()
    graph.placeholder("n")
    x, w = graph.placeholder("x"), graph.placeholder("w")
    graph.output([function(graph, x, w)])
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    env = fake_tensor.ShapeEnv(specialize_zero_one=False, duck_shape=False)
    mode = fake_tensor.FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    place = fake_tensor.ConstantSource("n")
    made = env.create_symbol(5, place, fake_tensor.DimDynamic.DYNAMIC)
    n = env.create_symintnode(made, hint=5, source=place)
    with mode:
        given = [n, torch.empty(n, 2), torch.empty(2, 2, requires_grad=grad)]
    found = []
    with (
        torch.set_grad_enabled(grad),
        fake_tensor.tracing(fake_tensor.TracingContext(mode)),
        inductor_compiler.backward_at_once(),
        compiled_halves.halves_noted(found),
    ):
        inductor_compiler.compile_fx(module, given)
    (halves,) = found
    return halves


def product(graph, x, w):
    first = graph.call_function(torch.matmul, (x, w))
    return graph.call_function(torch.matmul, (first, w))


def test_forward_is_a_function_of_a_list():
    halves = halves_of(product, grad=False)
    x, w = torch.rand(7, 2), torch.rand(2, 2)
    given = [7, x, w]
    (out,) = halves.forward(given)
    torch.testing.assert_close(out, x @ w @ w)
    assert not given
    assert halves.backward is None
    assert halves.outputs == 1


@pytest.mark.parametrize("n", [1, 7])
def test_backward_takes_what_forward_saved(n):
    halves = halves_of(product, grad=True)
    x, w = torch.rand(n, 2), torch.rand(2, 2, requires_grad=True)
    want = x @ w @ w
    tangent = torch.rand(2, n).T
    with torch.no_grad():
        out = halves.forward([n, x, w])
        ((place, meta),) = halves.tangents
        torch.testing.assert_close(out[place], want)
        laid_out = compiled_halves.lay_out(tangent, meta)
        assert laid_out.is_contiguous()
        assert compiled_halves.plain_tangent(tangent, meta).is_contiguous()
        saved = [*out[halves.numbers], *out[halves.tensors], laid_out]
        grads = halves.backward(saved)
    want.backward(tangent)
    assert grads[0] is None
    torch.testing.assert_close(grads[2], w.grad)


def test_there_are_no_halves_for_views_and_mutations():
    def view(graph, x, w):
        return graph.call_method("view", (x, -1))

    def mutation(graph, x, w):
        return graph.call_method("mul_", (x, 2))

    for grad in (False, True):
        assert halves_of(view, grad=grad) is None
        assert halves_of(mutation, grad=grad) is None


class Kept(torch.autograd.Function):
    """Saves a view, and returns a result without gradients beside one with them."""

    @staticmethod
    def forward(ctx, x):
        y = x * 2
        number = y.sum()
        compiled_halves.keep(ctx, [x.view(-1)], [number])
        return y, number

    @staticmethod
    def backward(ctx, tangent, nothing):
        assert nothing is None
        compiled_halves.check_backward(donates=True)
        (saved,) = compiled_halves.kept(ctx)
        assert not saved._is_view()
        return tangent * 2


def test_keep_and_kept():
    x = torch.rand(2, 3, requires_grad=True)
    y, number = Kept.apply(x)
    assert not number.requires_grad
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((2, 3), 2.0))


def test_check_backward_raises_where_a_graph_is_kept_or_batched():
    x = torch.rand(2, 3, requires_grad=True)
    y, _ = Kept.apply(x)
    with pytest.raises(RuntimeError, match="donated buffers"):
        y.sum().backward(retain_graph=True)
    y, _ = Kept.apply(x)
    with pytest.raises(RuntimeError, match="within vmap"):
        torch.vmap(lambda t: torch.autograd.grad(y, x, t))(torch.ones(4, 2, 3))
