"""The generated code: readable, right, frees what is dead, asserts early, restores the modes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from anyshape.errors import RuntimeAssertError
from anyshape.trace import capture


def test_it_reads_like_the_program() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> Any:
        z = (x + y) * 2.0
        return torch.cat([z[:, 1:], z[:, :1]], dim=1).view(-1)

    code = capture(f, (torch.randn(3, 4), torch.randn(3, 4)), dynamic="static").code
    assert code.splitlines() == [
        "def run(flat):",
        "    i0 = flat[0]",
        "    i1 = flat[1]",
        "    v0 = i0 + i1",
        "    del i0, i1",
        "    v1 = v0 * 2.0",
        "    del v0",
        "    v2 = v1[:, 1:]",
        "    v3 = v1[:, :1]",
        "    del v1",
        "    v4 = torch.cat([v2, v3], dim=1)",
        "    del v2, v3",
        "    v5 = v4.view(-1)",
        "    del v4",
        "    return [v5]",
    ]


def test_dead_values_are_freed_while_it_runs() -> None:
    seen: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []

    @torch.library.custom_op("anyshape_test::watch", mutates_args=())
    def watch(x: torch.Tensor) -> torch.Tensor:
        gc.collect()
        alive.append(sum(r() is not None for r in seen))
        made = x + 1
        seen.append(weakref.ref(made))
        return made

    @watch.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = watch(x)
        return x

    captured = capture(chain, (torch.randn(4),), dynamic="unbacked")
    captured(torch.randn(6))
    assert alive == [0, 1, 1, 1, 1]


def test_an_assert_runs_before_what_depends_on_it() -> None:
    def f(x: torch.Tensor) -> Any:
        n = x.sum().item()
        torch._check(n >= 2)
        torch._check(n <= x.size(0))
        return x[:n] * 2

    captured = capture(f, (torch.tensor([1, 1, 1]),), dynamic="unbacked")
    assert torch.equal(captured(torch.tensor([1, 1, 0])), torch.tensor([2, 2]))
    lines = captured.code.splitlines()
    item = next(i for i, line in enumerate(lines) if ".item()" in line)
    checks = [i for i, line in enumerate(lines) if "fail(" in line]
    use = next(i for i, line in enumerate(lines) if "i0[:" in line)
    assert item < min(checks) <= max(checks) < use
    with pytest.raises(RuntimeAssertError, match=r"x\.size\(0\)"):
        captured(torch.tensor([4, 1, 0]))


def test_grad_mode_autocast_and_default_dtype_are_replayed_and_restored() -> None:
    linear = torch.nn.Linear(4, 4)

    def f(x: torch.Tensor) -> Any:
        a = linear(x)
        with torch.no_grad():
            b = linear(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            c = linear(x)
        return a, b, c, linear(x)

    captured = capture(f, (torch.randn(3, 4),), dynamic="unbacked")
    x = torch.randn(5, 4)
    for got, want in zip(captured(x), f(x), strict=True):
        assert got.dtype is want.dtype
        assert got.requires_grad is want.requires_grad
        torch.testing.assert_close(got, want)
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")


def test_modes_are_restored_after_an_error() -> None:
    def f(x: torch.Tensor) -> Any:
        with torch.no_grad():
            n = x.sum().item()
            torch._check(n == 3)
            return x + n

    captured = capture(f, (torch.tensor([1, 2]),), dynamic="unbacked")
    with pytest.raises(RuntimeAssertError):
        captured(torch.tensor([5, 5]))
    assert torch.is_grad_enabled()


def test_numbers_containers_and_odd_values_come_back() -> None:
    def f(x: torch.Tensor, k: int) -> Any:
        n = x.size(0)
        return {"a": [n, n + k, n / 2], "b": (x.shape, float("inf"), None, "text"), "c": n > 3}

    captured = capture(f, (torch.randn(5, 2), 7), dynamic="unbacked")
    x = torch.randn(8, 2)
    assert captured(x, 7) == f(x, 7)
    assert type(captured(x, 7)["b"][0]) is torch.Size


def test_the_same_constant_is_kept_by_identity() -> None:
    weight = torch.randn(3)

    def f(x: torch.Tensor) -> Any:
        return x * weight, weight

    captured = capture(f, (torch.randn(2, 3),), dynamic="backed")
    product, same = captured(torch.randn(2, 3))
    assert same is weight
    weight.zero_()
    assert not captured(torch.randn(2, 3))[0].any()
    del product
