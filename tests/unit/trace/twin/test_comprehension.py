"""Comprehensions of twins: what they see, and what they leave behind, is as in eager execution."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import anyshape


def scopes(x: torch.Tensor) -> Any:
    k = 2

    class Made:
        squares = tuple([i * i for i in range(3)])

    later = [lambda j=j: [i * k for i in range(j)] for j in range(3)]
    same = [lambda: i for i in range(3)]  # noqa: B023
    nested = {i: [j for j in range(i) if j != k] for i in range(4)}
    k = 3  # seen by what was defined before
    flat = sum([f() for f in later], [g() for g in same])
    lazy = tuple([i] * j for j, i in enumerate([m + 1 for m in range(2)]))
    told = [(last := i) for i in range(3)]
    return x * sum(flat), flat, nested, lazy, told, last, Made.squares


def conditions(x: torch.Tensor) -> Any:
    i = 7
    rows = [x[i] * i for i in range(6) if i < x.size(0) if i != 1]
    pairs = [(a, b) for a in range(x.size(0)) for b in range(a)]
    table = {n: [m + 1 for m in range(n)] for n in {len(p) for p in pairs}}
    return rows, pairs, table, i


def unfolded(x: torch.Tensor) -> Any:
    def rest(n: int) -> list[int]:
        return [n, *[m for part in [rest(n - 1)] for m in part]] if n else []

    out = []
    while len([p for p in out if p.dim()]) < 2:
        out.append(x + len(out))
    for i in [1 - n for n in range(2)]:
        if [p for p in out if p.size(0) > i]:
            out = [p * i for p in out]
    return out, rest(3)


def refused(x: torch.Tensor) -> Any:
    kept: list[Any] = []
    try:
        kept = [x.view(i, -1) for i in (1, 0)]
    except RuntimeError:
        return kept, "refused"
    return kept


@pytest.mark.parametrize("f", [scopes, conditions, unfolded, refused])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_they_are_as_in_eager_execution(f: Any, n: int) -> None:
    compiled = anyshape.compile(f, fullgraph=True)
    for size in (n, n + 1, n):
        x = torch.arange(size) + 1.0
        assert repr(compiled(x)) == repr(f(x))
