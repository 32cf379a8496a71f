"""Hooks and autograd functions inside a program: values, gradients and effects of eager execution.

Each program gives what it computes and plain facts about it; gradients are taken of the first.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch.utils.hooks import RemovableHandle

import anyshape
from anyshape.errors import EffectError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (3, 5, 1, 0, 3)
COUNT = [0]
FACTOR = 2.0


def scaled(g: Any) -> Any:
    return g * FACTOR


def hook_on_a_result(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y * x, y.requires_grad


def hook_with_a_closure(x: Any) -> Any:
    k = x.detach().sum()

    def hook(g: Any) -> Any:
        return g * k + 1

    y = x * 2
    y.register_hook(hook)
    k = k * 2  # the hook sees the last value
    return (y * x,)


def hook_removed(x: Any) -> Any:
    y = x * 2
    y.register_hook(scaled).remove()
    with y.register_hook(scaled):
        z = y + 1
    return (z * y,)


def hook_on_an_input(x: Any) -> Any:
    handle = x.register_hook(scaled)
    return x * 3, isinstance(handle, RemovableHandle)


def hook_before_a_change(x: Any) -> Any:
    y = x * 2
    y.register_hook(scaled)
    y.mul_(3)
    y.register_hook(lambda g: g + 1)
    return (y * x,)


def hook_after_accumulation(x: Any) -> Any:
    def hook(t: Any) -> None:
        t.grad = t.grad * 5

    x.register_post_accumulate_grad_hook(hook)
    return (x * 3,)


def hook_and_branch(x: Any) -> Any:
    y = x * 2
    y.register_hook(scaled)
    return (y * x, 1) if y.sum() > 4 else (y + x, 0)


def retained(x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    return y * y, y


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        return x, y, 3, [x, y * 2]

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return g[0] * 5, None


@dataclasses.dataclass
class Pair:
    a: Any
    n: int = 2


class Opened:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class OfObjects(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pair: Any, x: Any) -> Any:
        ctx.n = pair.n
        return Opened(x * 2, [x * 3, x]), x * pair.a

    @staticmethod
    def backward(ctx: Any, _: Any, g: Any) -> Any:
        return None, g * ctx.n


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x, y + x

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * 2 + h, h * 7


class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(x: Any) -> Any:
        values, places = x.sort()
        return values, places

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx: Any, g: Any, _: Any) -> Any:
        (places,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(0, places, g)


class Views(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        z = x * 2
        return z[:1], z, x.view(-1, 1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, a: Any, b: Any, c: Any) -> Any:
        return b + c[:, 0]


def inputs_returned(x: Any) -> Any:
    a, b, n, parts = Same.apply(x, x.detach())
    return a * n + parts[1] + b, a is x, parts[0] is x


def inputs_returned_without_grad(x: Any) -> Any:
    with torch.no_grad():
        a, b, n, parts = Same.apply(x, x.detach())
    return x * a + b * parts[1] * n, a is x, a.requires_grad


def objects(x: Any) -> Any:
    o, y = OfObjects.apply(Pair(x.detach() + 1), x)
    return y * o.a + o.b[0], len(o.b), o.b[1] is x, o.a.requires_grad


def changed_in_place(x: Any) -> Any:
    z, y = x * 1, x * 2
    a, b = Dirty.apply(z, y)
    return a * b + z, a is z


def not_differentiable(x: Any) -> Any:
    values, places = Sorted.apply(x)
    return values * 2, places, places.requires_grad


def views(x: Any) -> Any:
    a, b, c = Views.apply(x)
    return b + c[:, 0], a


def views_without_grad(x: Any) -> Any:
    with torch.no_grad():
        a = x[:1]
        b = a.detach()
    return x * 2, a.requires_grad, a.is_leaf, b.requires_grad, (a * 2).requires_grad


def gradient(x: Any) -> Any:
    (g,) = torch.autograd.grad((x * x).sum(), x)
    return x * g, g.requires_grad, g.is_leaf, g.shape[0]


def gradients_by_two(x: Any) -> Any:
    w = torch.ones_like(x).requires_grad_()
    y = x * w
    a, b = torch.autograd.grad(y, [x, w], grad_outputs=torch.ones_like(y))
    return (a + b * x,)


def gradient_by_a_result(x: Any) -> Any:
    y = x * 2
    z = (y * y).sum()
    (g,) = torch.autograd.grad([z], (y,), retain_graph=True)
    (h,) = torch.autograd.grad(z, x, retain_graph=False)
    return (x * g + h,)


def gradient_by_nothing(x: Any) -> Any:
    z = x.detach().clone().requires_grad_()
    a, b = torch.autograd.grad((x * x).sum(), (x, z), materialize_grads=True)
    return (x * a + b,)


PROGRAMS = [
    gradient, gradients_by_two, gradient_by_a_result, gradient_by_nothing,
    hook_on_a_result, hook_with_a_closure, hook_removed, hook_on_an_input, hook_before_a_change,
    hook_after_accumulation, hook_and_branch, retained, inputs_returned,
    inputs_returned_without_grad, objects, changed_in_place, not_differentiable, views,
    views_without_grad,
]  # fmt: skip
MODES: list[dict[str, Any]] = [
    {"dynamic": True},
    {"dynamic": "unbacked"},
    {"dynamic": None, "fullgraph": True},
    {"dynamic": "unbacked", "fullgraph": True, "backend": "aot_eager"},
    {"dynamic": None, "backend": "aot_eager"},
]


def facts(f: Callable[..., Any], n: int) -> list[Any]:
    """What a call gives, with the gradients of two backward passes."""
    x = (torch.arange(n) + 1.0).requires_grad_()
    first, *rest = f(x)
    first.sum().backward()
    found = [first.tolist(), x.grad.tolist() if x.grad is not None else None]
    for part in rest:
        is_tensor = isinstance(part, torch.Tensor)
        found.append((part.tolist(), part.requires_grad) if is_tensor else part)
        if is_tensor and part.retains_grad:
            found.append(part.grad.tolist())
    return found


@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")
@pytest.mark.parametrize(
    ("program", "mode"),
    [
        (program, mode)
        for program in PROGRAMS
        for mode in MODES
        if program is not hook_and_branch or "fullgraph" not in mode  # a branch on data
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_as_in_eager(program: Any, mode: dict[str, Any]) -> None:
    compiled = anyshape.compile(program, **mode)
    for n in SIZES:
        assert facts(compiled, n) == facts(program, n), n
    assert compiled.eager_because is None


def test_a_lost_hook_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a program that registers no hook."""
    monkeypatch.setattr(
        "anyshape.trace.record.effect.autograd_effect.getattr",
        lambda t, name: lambda hook: RemovableHandle(OrderedDict()),
        raising=False,
    )
    compiled = anyshape.compile(hook_on_a_result)
    assert facts(compiled, 3) != facts(hook_on_a_result, 3)


def second_gradient(x: Any) -> Any:
    (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    return (g * x,)


def hooked_gradient(x: Any) -> Any:
    y = x * x
    y.register_hook(lambda g: g * 2)
    (g,) = torch.autograd.grad(y.sum(), x)
    return (x * g,)


@pytest.mark.parametrize("program", [second_gradient, hooked_gradient])
def test_gradients_of_unknown_kind_break_the_graph(program: Any) -> None:
    compiled = anyshape.compile(program)
    for n in SIZES:
        assert facts(compiled, n) == facts(program, n), n
    strict = anyshape.compile(program, fullgraph=True)
    with pytest.raises(UnsupportedError, match=r"torch\.autograd\.grad inside"):
        strict(torch.ones(3, requires_grad=True))


def test_hooks_of_the_caller_are_seen() -> None:
    """A hook of the input runs inside the program, which reads what it has changed."""
    seen: list[int] = []

    def f(x: Any) -> Any:
        (g,) = torch.autograd.grad((x * x).sum(), x)
        return (x * g * len(seen),)

    compiled = anyshape.compile(f)
    for hooked in (False, True, True):
        found = []
        for call in (compiled, f):
            seen.clear()
            x = torch.ones(3, requires_grad=True)
            if hooked:
                x.register_hook(lambda g: seen.append(1))
            found.append(call(x)[0].tolist())
        assert found[0] == found[1]


class Counting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        COUNT[0] += 1
        return x * FACTOR

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


def test_a_forward_has_its_effects_once() -> None:
    compiled = anyshape.compile(lambda x: Counting.apply(x) + 1)
    for n in (3, 3, 4):
        COUNT[0] = 0
        compiled(torch.ones(n, requires_grad=True))
        assert COUNT[0] == 1
    strict = anyshape.compile(lambda x: Counting.apply(x) + 1, fullgraph=True)
    with pytest.raises(EffectError, match=r"Counting\.forward changes something outside"):
        strict(torch.ones(3, requires_grad=True))


class Reading(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return torch.cat([x, x]) if FACTOR > 2 else x * FACTOR

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g[:3]


def test_what_a_forward_reads_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        y = Reading.apply(x)
        return y * y.shape[0]

    compiled = anyshape.compile(f, fullgraph=True)
    x = torch.ones(3, requires_grad=True)
    for factor in (2.0, 3.0, 2.0):
        monkeypatch.setattr(f"{__name__}.FACTOR", factor)
        assert torch.equal(compiled(x), f(x))
    assert compiled.stats.traces == 2


def test_a_call_that_runs_again_takes_its_hooks_back() -> None:
    """The second branch cannot be traced: the call runs eagerly, with one hook."""

    def f(x: Any) -> Any:
        x.register_hook(scaled)
        if x.sum() > 4:
            return torch.from_numpy(x.detach().numpy()) * x
        return x * 2

    compiled = anyshape.compile(f)
    for n in (2, 4, 2, 4):
        x, twin = torch.ones(n, requires_grad=True), torch.ones(n, requires_grad=True)
        compiled(x).sum().backward()
        f(twin).sum().backward()
        assert torch.equal(x.grad, twin.grad), n
