"""Modes, autograd functions, parameters and generators inside a program, against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import anyshape
from anyshape.rules.generator import recorded
from anyshape.trace import capture
from anyshape.trace.autograd.autograd_function import recorded_apply
from tests.differential.every_mode import LOWERED, Program, check, ones

THREE = ones(3, 3, 4)
GRADS = ones(3, 3, 4, grad=True)
SQUARE = tuple(lambda: (torch.ones(3, 3),) for _ in range(2))


class Clip(torch.autograd.Function):
    scale = 3.0

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * Clip.scale


class Saving(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.n = x.shape[0]
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x * ctx.n


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 7


clip, saving, dirty = Clip.apply, Saving.apply, Dirty.apply
BY_NAME = {"clip": Clip.apply}


class Doubling(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        return out * 2 if func is torch.relu else out


def packed(x: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):
        y = x * x
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 5, lambda t: t):
            z = x * x
        w = x * x
    return y + 2 * z + 4 * w + x * x


def packed_over_a_break(x: Any) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t):
        y = x * x
        if y.sum() > 3:
            y = y * x
    return y * x


def autocast_nested(x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ x
        w = z @ x
    return y, z, w, x @ x


def autocast_off(x: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return x @ x


def other_dtype(x: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    y = torch.ones(2)
    torch.set_default_dtype(torch.float32)
    return y, torch.ones(2) + x.sum()


def dtype_left(x: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    return torch.ones(2) + x.sum()


def grad_left(x: Any) -> Any:
    torch.set_grad_enabled(False)
    return x * 2


def required(x: Any) -> Any:
    x.requires_grad_()
    return x * 2


def detached(x: Any) -> Any:
    x.detach_()
    return x * 2


def parameter_of_input(x: Any) -> Any:
    p = nn.Parameter(x * 2)
    return p, p * 3, isinstance(p, nn.Parameter), p.is_leaf


def parameter_of_new(x: Any) -> Any:
    p = nn.Parameter(torch.ones(3))
    return p, p * 3 + x.sum()


def module_inside(x: Any) -> Any:
    m = nn.Linear(1, 1, bias=False)
    m.weight.data.fill_(2.0)
    return m(x[:, None])


def doubled_inside(x: Any) -> Any:
    with Doubling():
        return torch.relu(x) + 1


def dead_draws(x: Any) -> Any:
    torch.rand(3) * x.sum()
    nn.functional.dropout(x, 0.5)
    return x * torch.rand(1)


def seeded(x: Any) -> Any:
    torch.manual_seed(5)
    return torch.rand(2) + x.sum()


def state_put_back(x: Any) -> Any:
    state = torch.get_rng_state()
    first = torch.rand(2)
    torch.set_rng_state(state)
    return first, torch.rand(2), x * 2


def forked(x: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        first = torch.rand(2)
    return first, torch.rand(2), x * 2


def first_seed(x: Any) -> Any:
    return x * torch.initial_seed()


def class_attribute() -> Any:
    def prepare(i: int) -> None:
        Clip.scale = 3.0 + i

    return (lambda x: Clip.apply(x) * 2), prepare


def of(fn: Any, calls: Any = THREE, traced: bool = True) -> Program:
    return Program(lambda: fn, calls, traced)


PROGRAMS = {
    "apply": of(lambda x: Clip.apply(x) * 2, GRADS),
    "apply of a saving function": of(lambda x: Saving.apply(x * 2) * 2, GRADS),
    "alias": of(lambda x: clip(x) * 2, GRADS, False),
    "alias of a saving function": of(lambda x: saving(x * 2) * 2, GRADS, False),
    "alias in a dict": of(lambda x: BY_NAME["clip"](x) * 2, GRADS, False),
    "alias in map": of(lambda x: sum(map(clip, [x, x * 2])), GRADS, False),
    "alias in place": of(lambda x: dirty(x * 2) * 2, GRADS, False),
    "alias without gradients": of(lambda x: clip(x) * 2),
    "class attribute": Program(class_attribute, GRADS),
    "saved_tensors_hooks": of(packed, GRADS),
    "saved_tensors_hooks over a break": of(packed_over_a_break, GRADS),
    "autocast": of(autocast_nested, SQUARE),
    "autocast off": of(autocast_off, SQUARE),
    "default dtype": of(other_dtype),
    "default dtype left": of(dtype_left, traced=False),
    "grad mode left": of(grad_left, GRADS, False),
    "requires_grad_": of(required),
    "detach_": of(
        detached, tuple(lambda: (torch.ones(3, requires_grad=True) * 2,) for _ in range(3))
    ),
    "parameter of an input": of(parameter_of_input),
    "parameter of a new tensor": of(parameter_of_new),
    "module inside": of(module_inside),
    "function mode": of(doubled_inside),
    "dead draws": of(dead_draws),
    "manual_seed": of(seeded),
    "state of the generator": of(state_put_back),
    "fork_rng": of(forked),
    "initial_seed": of(first_seed),
}


@pytest.mark.parametrize("mode", LOWERED, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_inside(name: str, mode: Any) -> None:
    check(PROGRAMS[name], mode)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_autocast_of_the_caller_can_be_switched_off_before_any_op(backend: str) -> None:
    compiled = anyshape.compile(autocast_off, backend=backend)
    for _ in range(2):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert compiled(torch.ones(3, 3)).dtype is torch.float32
        assert compiled(torch.ones(3, 3)).dtype is torch.float32


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_function_mode_of_the_caller_is_respected(backend: str) -> None:
    compiled = anyshape.compile(lambda x: torch.relu(x) + 1, backend=backend)
    for _ in range(2):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
        with Doubling():
            assert compiled(torch.ones(2)).tolist() == [3, 3]
    assert compiled.eager_because is None


def test_the_default_device_is_no_reason_to_run_eagerly() -> None:
    compiled = anyshape.compile(lambda x: x + torch.ones(2))
    with torch.device("cpu"):
        compiled(torch.ones(2))
    assert compiled.stats.eager == 0


def test_hooks_of_the_caller_get_what_a_program_saves() -> None:
    compiled = anyshape.compile(lambda x: x * x)
    for factor in (3, 5):
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t, k=factor: t * k, lambda t: t):
            y = compiled(x)
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [2 * factor] * 2


def test_an_alias_of_apply_keeps_its_backward() -> None:
    program = capture(lambda x: clip(x) * 1, (torch.ones(3, requires_grad=True),))
    x = torch.ones(4, requires_grad=True)
    program(x).sum().backward()
    y = torch.ones(4, requires_grad=True)
    (clip(y) * 1).sum().backward()
    assert x.grad is not None
    assert y.grad is not None
    assert torch.equal(x.grad, y.grad)


def test_recorded_apply_keeps_the_backward_of_an_alias() -> None:
    def fn(x: Any) -> Any:
        form = recorded_apply(clip)
        assert form is not None
        return form(x) * 2

    program = capture(fn, (torch.ones(3, requires_grad=True),))
    x = torch.ones(5, requires_grad=True)
    Clip.scale = 4.0
    program(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8] * 5
    assert recorded_apply(torch.relu) is None
    assert recorded_apply(Clip.forward) is None


def test_methods_of_generators_are_recorded() -> None:
    generator = torch.Generator()

    def fn(x: Any, form: Any = recorded) -> Any:
        def method(name: str) -> Any:
            found = getattr(generator, name)
            return found if form is None else form(found)

        method("manual_seed")(3)
        state = method("get_state")()
        first = torch.rand(2, generator=generator)
        method("set_state")(state)
        return first, torch.rand(2, generator=generator), x * method("initial_seed")()

    program = capture(fn, (torch.ones(3),))
    expected = fn(torch.ones(4), None)
    for _ in range(3):
        generator.manual_seed(99)
        for got, want in zip(program(torch.ones(4)), expected, strict=True):
            assert torch.equal(got, want)
    assert recorded(torch.rand) is None
    assert recorded(generator.clone_state if hasattr(generator, "clone_state") else len) is None


def leaves_grad_off(x: Any) -> Any:
    y = x * 2
    torch.set_grad_enabled(False)
    return y, x + 1


def leaves_by_data(x: Any) -> Any:
    if x.sum() > 0:
        torch.set_grad_enabled(False)
        return x * 2, x
    return x + 1, x


def leaves_a_dtype(x: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    return x + torch.ones(x.shape[0]), x


def left_by(f: Any, x: Any) -> Any:
    """What a call gives, and the modes that it leaves."""
    grad, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        out = f(x)
        modes = torch.is_grad_enabled(), torch.get_default_dtype()
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
    return [(t.tolist(), t.dtype, t.requires_grad) for t in out], modes


LEAVING = [leaves_grad_off, leaves_by_data, leaves_a_dtype]
POSITIVE = torch.ones(3, requires_grad=True)
NEGATIVE = -torch.ones(4)


@pytest.mark.parametrize("f", LEAVING)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
def test_a_compiled_program_leaves_the_modes_that_it_leaves_eagerly(f: Any, backend: str) -> None:
    compiled = anyshape.compile(f, backend=backend)
    for x in (POSITIVE, NEGATIVE, POSITIVE, NEGATIVE):
        assert left_by(compiled, x) == left_by(f, x)
    assert compiled.eager_because is None


@pytest.mark.parametrize("f", LEAVING)
def test_an_exported_program_leaves_the_modes_that_it_leaves_eagerly(f: Any, tmp_path: Any) -> None:
    before = torch.is_grad_enabled(), torch.get_default_dtype()
    program = anyshape.export(f, (POSITIVE,), dynamic_shapes=({0: "n"},))
    assert before == (torch.is_grad_enabled(), torch.get_default_dtype())
    program.save(tmp_path / "leaving.any")
    for p in (program, anyshape.load(tmp_path / "leaving.any")):
        for x in (POSITIVE, NEGATIVE):
            assert left_by(p, x) == left_by(f, x)
    with pytest.raises(anyshape.UnsupportedError, match="no program of torch"):
        program.to_torch()


def test_a_program_that_fails_leaves_the_modes_of_its_caller() -> None:
    program = anyshape.export(leaves_grad_off, (POSITIVE,), dynamic_shapes=({0: "n"},))
    with pytest.raises(anyshape.AnyshapeError):
        program(torch.ones(3, 3))
    assert torch.is_grad_enabled()


def test_inference_mode_that_is_left_is_refused() -> None:
    def f(x: Any) -> Any:
        torch.inference_mode().__enter__()
        return x + 1

    with pytest.raises(anyshape.UnsupportedError, match="leaves it changed"):
        anyshape.compile(f, fullgraph=True)(torch.ones(3))
