from __future__ import annotations

import pytest
import torch

from anyshape.torch_compat import fake_kernel


@pytest.fixture(scope="module")
def nonzero_rows():
    @torch.library.custom_op("anyshape_compat::nonzero_rows", mutates_args=())
    def op(x: torch.Tensor) -> torch.Tensor:
        return x[x.sum(1) != 0].clone()

    @op.register_fake
    def _(x):
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.shape[1])

    return torch.ops.anyshape_compat.nonzero_rows


def test_fake_kernel_of_a_custom_op(nonzero_rows):
    assert callable(fake_kernel.fake_kernel_of(nonzero_rows.default))
    assert callable(fake_kernel.fake_kernel_of(nonzero_rows))
    assert fake_kernel.fake_kernel_of(torch.ops.aten.add.Tensor) is None
    assert fake_kernel.fake_kernel_of(torch.add) is None


def test_set_context_is_what_get_ctx_gives(nonzero_rows):
    class Context:
        def new_dynamic_size(self, *, min=0, max=None):
            return 3

    with fake_kernel.set_context(Context):
        out = fake_kernel.fake_kernel_of(nonzero_rows)(torch.empty(5, 2, device="meta"))
    assert out.shape == (3, 2)


def test_enable_python_dispatcher_runs_python_decompositions():
    with fake_kernel.enable_python_dispatcher():
        assert torch._C._dispatch_tls_is_dispatch_key_included("PythonDispatcher")
        out = torch.nn.functional.conv2d(
            torch.empty(1, 1, 4, 4, device="meta"), torch.empty(1, 1, 2, 2, device="meta")
        )
    assert out.shape == (1, 1, 3, 3)
    assert not torch._C._dispatch_tls_is_dispatch_key_included("PythonDispatcher")


def test_custom_ops_return_new_tensors(nonzero_rows):
    assert fake_kernel.returns_new_tensors(nonzero_rows.default)
    assert fake_kernel.returns_new_tensors(nonzero_rows)
    assert not fake_kernel.returns_new_tensors(torch.ops.aten.contiguous.default)
    assert not fake_kernel.returns_new_tensors(torch.add)


def test_tensors_of_a_kernel_have_no_data():
    with fake_kernel.MetaFactories():
        made = torch.zeros(3, device="cpu")
        assert made.device.type == "meta"
        assert (made + 1).device.type == "meta"
        assert torch.ones(2).cos().shape == (2,)


def test_fused_updates_return_nothing():
    parameter, gradient, momentum = torch.ones(3), torch.ones(3), torch.zeros(3)
    options = {"weight_decay": 0.0, "momentum": 0.9, "lr": 0.5, "dampening": 0.0}
    flags = {"nesterov": False, "maximize": False, "is_first_step": True}
    given = [parameter], [gradient], [momentum]
    assert torch._fused_sgd_(*given, **options, **flags) is None
    assert parameter.tolist() == [0.5, 0.5, 0.5]
    for update in (torch._fused_adagrad_, torch._fused_adam_, torch._fused_adamw_):
        assert fake_kernel.returns_nothing(update)
    assert fake_kernel.returns_nothing(torch._fused_sgd_)
    assert not fake_kernel.returns_nothing(torch.add)


def test_a_kernel_tells_of_sizes_that_no_result_has():
    context = fake_kernel.KernelContext()
    with context._shape_env.ignore_fresh_unbacked_symbols():
        assert context.drops
    assert not context.drops
    own = torch.fx.experimental.symbolic_shapes.ShapeEnv
    assert hasattr(own, "ignore_fresh_unbacked_symbols")
