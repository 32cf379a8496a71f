from __future__ import annotations

import torch

from anyshape.torch_compat import pre_dispatch as pre


def test_the_mode_gets_composite_ops_whole():
    seen = []

    def handle(func, args, kwargs):
        seen.append(str(func))
        with pre.no_dispatch():
            return torch.empty(2, 3, device="meta")

    with pre.pre_dispatched(handle):
        assert not torch.is_grad_enabled()
        x = torch.zeros(2, 3)
        torch.nn.functional.linear(x, x)
    assert seen[-1] == "aten.linear.default"
    assert torch.is_grad_enabled()


def test_symbolic_numbers_are_computed_under_the_mode():
    from anyshape.torch_compat import fake_tensor as ft

    n = ft.ShapeEnv().create_unbacked_symint()
    with pre.pre_dispatched(lambda *_: None):
        assert str(n + 1) == "u0 + 1"


def test_the_ops_that_read_numbers():
    assert pre.ITEM(torch.tensor(3)) == 3
    assert pre.SIZE(torch.ones(2, 5), 1) == 5
    assert pre.INPLACE_VIEW in torch.ops.aten.t_.default.tags
