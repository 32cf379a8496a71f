from __future__ import annotations

import torch

from anyshape.torch_compat.tensor_version import set_version, version_of


def test_a_version_that_is_put_back_satisfies_autograd():
    x = torch.ones(2)
    w = torch.ones(2, requires_grad=True)
    y = (w * x).sum()
    before = version_of(x)
    x.add_(1)
    assert version_of(x) == before + 1
    x.sub_(1)
    set_version(x, before)
    y.backward()
    assert w.grad.tolist() == [1, 1]


def test_an_inference_tensor_has_no_version():
    with torch.inference_mode():
        assert version_of(torch.ones(2)) is None
