from __future__ import annotations

import linecache
import operator

import pytest
import torch
from torch._functorch import config as functorch_config
from torch._inductor import config as inductor_config

from anyshape.torch_compat import fake_tensor, inductor_compiler
from anyshape.torch_compat.aten_op import ASSERT_SCALAR
from anyshape.torch_compat.message import GENERATED_CHECK


@pytest.fixture(scope="module", autouse=True)
def no_caches():
    """A graph from a cache would not be compiled."""
    with inductor_config.patch(force_disable_caches=True):
        yield


def fakes():
    """An environment's symbol with this hint, and a mode that makes tensors over it."""
    env = fake_tensor.ShapeEnv(specialize_zero_one=False, duck_shape=False)
    mode = fake_tensor.FakeTensorMode(shape_env=env, allow_non_fake_inputs=True)
    place = fake_tensor.ConstantSource("n")
    made = env.create_symbol(5, place, fake_tensor.DimDynamic.DYNAMIC)
    return mode, env.create_symintnode(made, hint=5, source=place)


def test_compile_fx_takes_symbols_and_calls_compile_fx_inner():
    graph = torch.fx.Graph()
    graph.placeholder("n")
    x = graph.placeholder("x")
    graph.output([graph.call_function(torch.mul, (x, 2))])
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    mode, n = fakes()
    with mode:
        x = torch.empty(n, 2)
    seen = []

    def inner(graph, *args, **kwargs):
        result = inductor_compiler.compile_fx_inner(graph, *args, **kwargs)
        seen.append(result.output_strides)
        return result

    with fake_tensor.tracing(fake_tensor.TracingContext(mode)):
        compiled = inductor_compiler.compile_fx(module, [n, x], inner_compile=inner)
    for size in (3, 8):
        assert torch.equal(compiled(size, torch.ones(size, 2))[0], torch.full((size, 2), 2.0))
    assert seen == [[("2", "1")]]


class ChecksFirst(inductor_compiler.SchedulerPass):
    """Place what uses the number of nonzero elements after the assert over it."""

    def __init__(self):
        self.asserts = []
        self.after = []

    def __call__(self, nodes):
        for node in nodes:
            ir = node.node
            if isinstance(ir, inductor_compiler.AssertScalar):
                self.asserts.append(ir.get_name())
                assert ir.get_free_symbol_uses(unbacked_only=True)
            elif self.asserts and ir is not None:
                name = node.get_first_name()
                dep = inductor_compiler.WeakDep(self.asserts[0], mutating_buf=name)
                node.add_fake_dep(dep)
                self.after.append(name)
        nodes[0].scheduler.compute_ancestors()
        return nodes

    def uuid(self):
        return "anyshape compat test"


@pytest.fixture(scope="module")
def checked():
    """`x * 2` for an even number of nonzero elements, compiled; and the pass that ran over it."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    found = graph.call_function(torch.nonzero, (x,))
    count = graph.call_method("size", (found, 0))
    rest = graph.call_function(operator.mod, (count, 2))
    graph.call_function(
        ASSERT_SCALAR, (graph.call_function(operator.eq, (rest, 0)), "the count must be even")
    )
    made = graph.call_function(torch.ones, (count,))
    graph.output([graph.call_function(torch.mul, (made, 2))])
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    mode, _ = fakes()
    with mode:
        x = torch.empty(6)
    scheduler_pass = ChecksFirst()
    with (
        fake_tensor.tracing(fake_tensor.TracingContext(mode)),
        inductor_compiler.without_autograd_cache(),
        inductor_compiler.with_scheduler_pass(scheduler_pass),
    ):
        return inductor_compiler.compile_fx(module, [x]), scheduler_pass


def test_a_scheduler_pass_finds_assert_scalar_and_adds_weak_deps(checked):
    compiled, scheduler_pass = checked
    assert scheduler_pass.asserts
    assert scheduler_pass.after
    x = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert compiled(x)[0].tolist() == [2.0, 2.0]


def test_a_failed_assert_raises_from_a_line_of_generated_code(checked):
    compiled, _ = checked
    with pytest.raises(RuntimeError) as caught:
        compiled(torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
    last = caught.tb
    while last.tb_next is not None:
        last = last.tb_next
    line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
    assert line.strip().startswith(GENERATED_CHECK)


def test_backward_at_once_patches_torch_where_it_has_the_switch():
    name = "force_non_lazy_backward_lowering"
    before = getattr(functorch_config, name, None)
    with inductor_compiler.backward_at_once():
        assert getattr(functorch_config, name, None) is (None if before is None else True)
    assert getattr(functorch_config, name, None) is before


def test_without_autograd_cache():
    before = functorch_config.enable_autograd_cache
    with inductor_compiler.without_autograd_cache():
        assert functorch_config.enable_autograd_cache is False
    assert functorch_config.enable_autograd_cache is before


def test_with_scheduler_pass():
    with inductor_compiler.with_scheduler_pass(len):
        assert inductor_config._pre_fusion_custom_pass is len
    assert inductor_config._pre_fusion_custom_pass is None


def test_kernels_side_by_side_are_ready_at_the_end():
    graph = torch.fx.Graph()
    graph.output([graph.call_function(torch.exp, (graph.placeholder("x"),))])
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    mode, _ = fakes()
    with mode:
        x = torch.empty(3, 2)
    with torch.no_grad(), fake_tensor.tracing(fake_tensor.TracingContext(mode)):
        with inductor_compiler.kernels_side_by_side():
            compiled = inductor_compiler.compile_fx(module, [x])
        torch.testing.assert_close(compiled(torch.ones(3, 2))[0], torch.ones(3, 2).exp())
