"""Programs that break, run by backends that compile whole programs: segment by segment."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape
from anyshape.errors import AnyshapeWarning


def branches(x: Any, w: Any) -> Any:
    y = torch.relu(x @ w) + 1
    if y.sum() > 5:
        return (y * 2).sum(0)
    n = (x > 0).nonzero().shape[0]
    if n == 0:
        return y.sum(0) - 1
    return y.mean(0) * n


def gradient(f: Any, x: Any, w: Any) -> Any:
    result = f(x, w)
    (grad,) = torch.autograd.grad(result.sum(), w)
    return result.detach(), grad


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_segments_are_lowered(backend: str) -> None:
    compiled = anyshape.compile(branches, dynamic="unbacked", backend=backend)
    for i in range(12):
        torch.manual_seed(i)
        x, w = torch.randn(i % 4, 3) * (i % 3), torch.randn(3, 4, requires_grad=True)
        got, want = gradient(compiled, x, w), gradient(branches, x, w)
        torch.testing.assert_close(got, want, equal_nan=True)
    (entry,) = compiled.entries
    assert sum(1 for _ in entry.root.below()) == 5
    assert compiled.stats.eager == 0
    lowered = [s for s in entry.root.below() if s.run is not s.program.function()]
    assert len(lowered) >= 3


def test_a_backend_that_fails_leaves_our_own_code() -> None:
    def broken(module: Any, inputs: Any) -> Any:
        raise RuntimeError("not today")

    def f(x: Any) -> Any:
        return x * 2 + 1 if x.sum() > 0 else x - 1

    compiled = anyshape.compile(f, backend=broken)
    with pytest.warns(AnyshapeWarning, match="not today"):
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
    with pytest.warns(AnyshapeWarning, match="not today"):
        assert torch.equal(compiled(-torch.ones(3)), torch.full((3,), -2.0))
    assert compiled.stats.eager == 0


def test_a_wrong_backend_is_caught() -> None:
    """The planted bug of this suite."""

    def wrong(module: Any, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            out = list(module(*args))
            return [
                x + 1 if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in out
            ]

        return run

    compiled = anyshape.compile(branches, backend=wrong)
    x, w = torch.ones(2, 3), torch.ones(3, 4, requires_grad=True)
    compiled(x, w)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(compiled(x, w), branches(x, w))
