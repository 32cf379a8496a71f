"""Scalars of NumPy as arguments: numbers like any other, one program for all values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import anyshape

SIZED = [np.int64(n) for n in (3, 4, 6, 2)]
REAL = [np.float32(x) for x in (0.3, 0.4, 1.5, -2.0)]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return a.dtype is b.dtype and torch.equal(a, b)
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
@pytest.mark.parametrize(
    ("body", "values"),
    [
        (lambda x, n: (x.view(n, -1), n), SIZED),
        (lambda x, n: (x[:n], x[n], n + 1, n / 2), SIZED),
        (lambda x, n: (torch.zeros(n), torch.tensor(n), x * n, n * x), SIZED),
        (lambda x, n: (int(n), float(n), type(n), n > 2), SIZED),
        (lambda x, f: (f * x, x * f, f * 0.1, f + np.float64(0.1), f > 0.5, f), REAL),
        (lambda x, f: (torch.tensor(f), np.sqrt(abs(f)), f.item(), f.dtype), REAL),
    ],
)
def test_one_program(body: Any, values: list[Any], dynamic: Any) -> None:
    f = anyshape.compile(body, dynamic=dynamic, fullgraph=True)
    x = torch.arange(12.0)
    for value in values:
        for made, expected in zip(f(x, value), body(x, value), strict=True):
            assert same(made, expected)
    assert len(f.entries) == (2 if dynamic is None else 1)


def test_the_sign_of_zero_is_guarded() -> None:
    def body(x: torch.Tensor, a: float) -> Any:
        return x, math.copysign(1.0, a), a.hex()

    f = anyshape.compile(body, dynamic=True)
    x = torch.ones(2)
    assert [f(x, a)[1:] for a in (0.0, -0.0)] == [body(x, a)[1:] for a in (0.0, -0.0)]
