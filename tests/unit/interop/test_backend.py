"""Backends by name and by function, and what lowered programs take for granted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import PendingUnbackedSymbolNotFound

import anyshape
from anyshape.errors import ArgumentError, BackendError, RuntimeAssertError
from anyshape.interop import lowering
from anyshape.interop.backend import Lowered, find_backend, lower
from anyshape.interop.lowering_guards import LoweringGuards
from anyshape.trace import capture


def lowered(fn: Any, *args: Any, backend: Any = "aot_eager", dynamic: Any = "unbacked") -> Lowered:
    return lower(capture(fn, args, dynamic=dynamic), find_backend(backend), list(args))


def served(program: Lowered, *args: Any) -> list[Any]:
    """What the program gives, which must take these inputs."""
    broken = program.holds(list(args)) if program.holds else None
    assert broken is None, broken
    return list(program.run(list(args)))


def refusal(program: Lowered, *args: Any) -> str:
    assert program.holds is not None
    broken = program.holds(list(args))
    assert broken is not None
    return broken


# ---------------------------------------------------------------------- finding


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ArgumentError, match=r"no backend 'inductr'(.|\n)*eager, inductor.*aot_eager"
    ):
        find_backend("inductr")


def test_what_is_no_backend() -> None:
    with pytest.raises(ArgumentError, match="cannot be 3"):
        find_backend(3)  # type: ignore[arg-type]


def test_eager_is_the_generated_code() -> None:
    program = lowered(lambda x: x + 1, torch.randn(3), backend="eager")
    assert program.holds is None
    assert torch.equal(program.run([torch.ones(5)])[0], torch.full((5,), 2.0))


# ---------------------------------------------------------------------- a function as a backend


def test_a_function_gets_a_graph_with_examples() -> None:
    seen: list[Any] = []

    def backend(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        seen.extend([module, examples])
        return module.forward

    def f(x: Any, y: Any) -> Any:
        kept = x[x > 0]
        return kept * 2, torch.relu(x) + y, x.size(0) + kept.size(0), "word", y

    x, y = torch.randn(4, 3), torch.randn(4, 3)
    program = lowered(f, x, y, backend=backend)
    module, examples = seen
    assert all("example_value" in n.meta for n in module.graph.nodes)
    values = [n.meta["example_value"] for n in module.graph.nodes if n.op == "placeholder"]
    assert all(("val" in n.meta) == (n.op != "placeholder") for n in module.graph.nodes)
    assert [type(v) for v in values] == [type(v) for v in examples]
    fake = examples[-1]
    assert type(fake).__name__ == "FakeTensor"
    assert isinstance(fake.shape[0], torch.SymInt)
    assert str(fake.shape) == str(examples[-2].shape)  # they were added, so they are one size
    for n in (4, 1, 7):
        x, y = torch.randn(n, 3), torch.randn(n, 3)
        kept, total, count, word, same = served(program, x, y)
        assert torch.equal(kept, x[x > 0] * 2)
        assert torch.equal(total, torch.relu(x) + y)
        assert (count, word) == (n + int((x > 0).sum()), "word")
        assert same is y


def test_an_error_of_a_backend_names_it() -> None:
    def fussy(_module: Any, _examples: Any) -> Any:
        raise ValueError("not today")

    with pytest.raises(BackendError, match=r"'fussy' failed(.|\n)*ValueError: not today") as e:
        lowered(lambda x: x + 1, torch.randn(3), backend=fussy)
    assert isinstance(e.value.__cause__, ValueError)


# ---------------------------------------------------------------------- lowering_guards


def test_gradients_and_their_mode_are_lowering_guards() -> None:
    program = lowered(lambda x: x * 2, torch.randn(3))
    assert "requires_grad" in refusal(program, torch.randn(3, requires_grad=True))
    with torch.no_grad():
        assert refusal(program, torch.randn(3)) == "the state of torch changed: grad_mode"


def test_layouts_are_lowering_guards() -> None:
    program = lowered(lambda x: x * 2, torch.randn(3, 4))
    assert refusal(program, torch.randn(4, 3).t()) == "x is not contiguous"
    served(program, torch.randn(1, 5).t())  # sizes of 1 have any stride
    served(program, torch.randn(0, 5))
    turned = lowered(lambda x: x * 2, torch.randn(4, 3).t())
    x = torch.randn(6, 2).t()
    assert torch.equal(served(turned, x)[0], x * 2)
    assert "layout" in refusal(turned, torch.randn(2, 6))
    gaps = lowered(lambda x: x * 2, torch.randn(4, 9)[:, ::2])
    x = torch.randn(2, 9)[:, ::2]
    assert torch.equal(served(gaps, x)[0], x * 2)
    assert "layout" in refusal(gaps, torch.randn(2, 10)[:, ::2])


def test_a_conjugate_is_another_kind_of_tensor() -> None:
    program = lowered(lambda x: x * 2, torch.randn(3, dtype=torch.complex64))
    assert "dispatch key" in refusal(program, torch.randn(3, dtype=torch.complex64).conj())


def test_parameters_are_read_at_each_call() -> None:
    linear = nn.Linear(3, 2)
    program = lowered(linear, torch.randn(4, 3))
    with torch.no_grad():
        linear.weight += 1
    x = torch.randn(5, 3)
    torch.testing.assert_close(served(program, x)[0], linear(x))
    served(program, x)[0].sum().backward()
    assert linear.weight.grad is not None
    linear.requires_grad_(False)
    assert "requires_grad" in refusal(program, x)


def test_memory_shared_with_what_is_changed() -> None:
    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return y * 2

    base = torch.zeros(6)
    with pytest.raises(BackendError, match="shares its memory"):
        lowered(f, base[:3], base[3:])
    program = lowered(f, torch.zeros(3), torch.zeros(4))
    assert "shares its memory" in refusal(program, base[:3], base[:2])
    x, y = torch.zeros(5), torch.ones(2)
    assert torch.equal(served(program, x, y)[0], torch.full((2,), 2.0))
    assert torch.equal(x, torch.ones(5))


def test_a_changed_buffer_keeps_its_changes() -> None:
    norm = nn.BatchNorm1d(3)
    twin = nn.BatchNorm1d(3)
    program = lowered(norm, torch.randn(4, 3))
    for n in (5, 9):
        x = torch.randn(n, 3)
        torch.testing.assert_close(served(program, x)[0], twin(x))
    torch.testing.assert_close(norm.running_mean, twin.running_mean)
    assert norm.num_batches_tracked == 2


def test_questions_of_a_compiler_become_lowering_guards() -> None:
    def nosy(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        n = examples[-1].shape[0]
        assert n > 2
        if n % 2 == 0:
            assert n != 10
        return module.forward

    program = lowered(lambda x: x + 1, torch.randn(6), backend=nosy)
    asked = "(asked by nosy in test_backend.py)"
    conditions = ("x.size(0) % 2 == 0", "3 <= x.size(0)", "x.size(0) != 10")
    assert set(program.guards) == {f"{condition} {asked}" for condition in conditions}
    served(program, torch.randn(8))
    assert refusal(program, torch.randn(7)) == f"x.size(0) % 2 == 0 {asked}"
    assert refusal(program, torch.randn(10)) == f"x.size(0) != 10 {asked}"


def test_what_the_program_checks_is_no_guard() -> None:
    def nosy(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        assert examples[-1].shape[0] >= 2
        return module.forward

    def f(x: Any) -> Any:
        torch._check(x.size(0) >= 3, lambda: "too short")
        return x + 1

    program = lowered(f, torch.randn(6), backend=nosy)
    assert program.guards == ()
    with pytest.raises(RuntimeAssertError, match="too short"):
        program.run([torch.randn(2)])


def test_a_guard_of_the_lowering_that_the_call_breaks_is_lowered_anew_for_the_call() -> None:
    asked: list[bool] = []

    def nosy(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        x, y = examples[-2:]
        asked.append(bool(x.shape[0] == y.shape[0]))
        return module.forward

    program = lowered(lambda x, y: (x + 1, y + 1), torch.randn(5), torch.randn(5), backend=nosy)
    assert asked == [False, True]  # the guard failed for the call, so it was compiled for it
    assert refusal(program, torch.randn(5), torch.randn(6))


def test_sizes_that_torch_cannot_name_are_decided_by_hints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lowering, "is_of_torch", lambda _: True)  # then layouts are no premises
    general: list[bool] = []

    def unable(module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        general.append(_config.backed_size_oblivious)
        if general[-1]:
            raise PendingUnbackedSymbolNotFound("u7")
        assert examples[-1].shape[0] >= 2  # as a compiler asks about the bounds of a slice
        return module.forward

    def f(x: Any) -> Any:
        return x[2:] * 2

    known = lowered(f, torch.randn(6), backend=unable)
    assert general == [True, False]
    for n in (4, 5, 7):
        x = torch.randn(n)
        assert torch.equal(served(known, x)[0], f(x))
    for n in (0, 1, 2, 3):  # what was asked is a premise, not a choice of a layout
        assert "x.size(0)" in refusal(known, torch.randn(n))


def test_the_suite_finds_guards_that_are_not_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = lowered(lambda x: x * 2, torch.randn(3, 4), backend="aot_eager")
    monkeypatch.setattr(LoweringGuards, "first_failure", lambda *_: None)
    assert program.holds is not None
    blind = lowered(lambda x: x * 2, torch.randn(3, 4), backend="aot_eager")
    assert refusal(program, torch.randn(4, 3).t())
    with pytest.raises(AssertionError):
        refusal(blind, torch.randn(4, 3).t())


# ---------------------------------------------------------------------- asserts and modes


def test_asserts_of_the_run_have_the_users_message() -> None:
    def f(x: Any, i: Any) -> Any:
        n = i.item()
        torch._check(n >= 2, lambda: "at least two, please")
        torch._check(n * n <= 50, lambda: "not so many")
        return x[:n] * 2, n + 1

    program = lowered(f, torch.randn(9), torch.tensor(3))
    for n in (2, 7):
        x = torch.randn(9)
        part, count = served(program, x, torch.tensor(n))
        assert torch.equal(part, x[:n] * 2)
        assert count == n + 1
    with pytest.raises(RuntimeAssertError, match=r"at least two(.|\n)*test_backend.py"):
        program.run([torch.randn(9), torch.tensor(1)])
    with pytest.raises(RuntimeAssertError, match="not so many"):
        program.run([torch.randn(9), torch.tensor(8)])


def test_modes_are_the_programs_and_do_not_leak() -> None:
    linear = nn.Linear(4, 4)

    def f(x: Any) -> Any:
        with torch.no_grad():
            y = linear(x)
        z = linear(x)
        with torch.autocast("cpu", torch.bfloat16):
            return y, z, linear(x)

    program = lowered(f, torch.randn(3, 4))
    y, z, w = served(program, torch.randn(5, 4))
    assert (y.requires_grad, z.requires_grad) == (False, True)
    assert (y.dtype, z.dtype, w.dtype) == (torch.float32, torch.float32, torch.bfloat16)
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")


def test_numbers_among_the_inputs() -> None:
    def f(x: Any, n: Any, scale: Any, up: Any) -> Any:
        return x * scale + torch.ones(n).sum() + up, scale * 2, n + 1, up

    program = lowered(f, torch.randn(3), 2, 0.5, True, dynamic=lambda _: "unbacked")
    x = torch.randn(4)
    total, *numbers = served(program, x, 5, 1.5, False)
    torch.testing.assert_close(total, x * 1.5 + 5)
    assert numbers == [3.0, 6, False]


@pytest.mark.parametrize("k", [2, -1, 6])
def test_indexing_by_a_number_of_the_run(k: int) -> None:
    def f(x: Any, i: Any) -> Any:
        n = i.item()
        y = x.clone()
        y[n] = 5.0
        y[..., n] = 6.0
        return y, x[n, None, :2], x[..., n], x[n, torch.tensor([0, 1])], x[:, n, None]

    program = lowered(f, torch.randn(6, 6), torch.tensor(2))
    x = torch.randn(6, 6)
    if k == 6:
        with pytest.raises(RuntimeAssertError, match="out of bounds"):
            program.run([x, torch.tensor(k)])
        return
    for got, want in zip(served(program, x, torch.tensor(k)), f(x, torch.tensor(k)), strict=True):
        assert torch.equal(got, want)


def test_a_strided_view_stays_inside_its_memory() -> None:
    program = lowered(lambda x: x.as_strided((2, 2), (1, 2)) * 2, torch.randn(9))
    x = torch.randn(4)
    assert torch.equal(served(program, x)[0], x.as_strided((2, 2), (1, 2)) * 2)
    with pytest.raises(RuntimeAssertError, match="exceeds the storage"):
        program.run([torch.randn(3)])
    assert "whole storage" in refusal(program, torch.randn(8)[:6])


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # type: ignore[no-untyped-def]
        return x * 2

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return grad * 3


def test_the_module_of_a_backend_runs_as_text() -> None:
    """Calls without a name in torch, and constants without a text, are globals and attributes."""

    def doubled(x: torch.Tensor) -> torch.Tensor:
        return _Doubled.apply(x) + np.float64(0.5) + np.int32(3)

    compiled = anyshape.compile(doubled, backend=lambda gm, examples: gm, fullgraph=True)
    x = torch.ones(3, requires_grad=True)
    result = compiled(x)
    result.sum().backward()
    assert torch.equal(result, doubled(torch.ones(3)))
    assert x.grad is not None
    assert x.grad.tolist() == [3.0] * 3
