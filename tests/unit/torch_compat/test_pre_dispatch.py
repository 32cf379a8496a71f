from __future__ import annotations

import torch

from anyshape.torch_compat import pre_dispatch as pre


def test_the_mode_gets_composite_ops_whole():
    seen = []

    def handle(func, args, kwargs):
        seen.append(str(func))
        with pre.no_dispatch():
            return torch.empty(2, 3, device="meta")

    with pre.Recording(handle).to(handle):
        assert not torch.is_grad_enabled()
        x = torch.zeros(2, 3)
        torch.nn.functional.linear(x, x)
    assert seen[-1] == "aten.linear.default"
    assert torch.is_grad_enabled()


def test_below_the_transforms_ops_are_what_remains_of_them():
    seen = []

    def handle(func, args, kwargs):
        seen.append(str(func))
        return func(*args, **kwargs)

    recording = pre.Recording(handle)
    x = torch.ones(2, 3)
    with recording.to(handle), recording.below():
        made = torch.func.vmap(lambda row: row.sum())(x)
        assert pre.DEVICE in (torch.ops.prim.device.default,)
    assert torch.equal(made, torch.full((2,), 3.0))
    assert seen == ["aten.sum.dim_IntList"]


def test_symbolic_numbers_are_computed_under_the_mode():
    from anyshape.torch_compat import fake_tensor as ft

    n = ft.ShapeEnv().create_unbacked_symint()
    recording = pre.Recording(lambda *_: None)
    with recording.to(lambda *_: None):
        assert str(n + 1) == "u0 + 1"


def test_the_ops_that_read_numbers():
    assert pre.ITEM(torch.tensor(3)) == 3
    assert pre.SIZE(torch.ones(2, 5), 1) == 5
    assert pre.INPLACE_VIEW in torch.ops.aten.t_.default.tags
