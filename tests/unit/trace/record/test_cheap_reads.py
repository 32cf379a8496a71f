"""What a trace reads once and keeps: it notices later changes, and asks no code of the user's."""

from __future__ import annotations

import dataclasses
import gc
from typing import Any

import pytest
import torch

from anyshape import compile as compile_
from anyshape import export
from anyshape.trace import capture
from anyshape.trace.tracer import Tracer


class Slotted:
    """An object whose attributes are slots."""

    __slots__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale


def test_a_slot_that_the_program_assigns_is_read_anew() -> None:
    s = Slotted(2.0)

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * s.scale
        s.scale = s.scale + 1
        return y * s.scale

    compiled, eager = compile_(f), Slotted(2.0)
    for n in (3, 4, 5):
        x = torch.randn(n)
        want = x * eager.scale * (eager.scale + 1)
        eager.scale += 1
        torch.testing.assert_close(compiled(x), want)
        assert s.scale == eager.scale


def test_a_slot_from_outside_is_a_condition() -> None:
    s = Slotted(2.0)

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * s.scale + s.scale

    compiled, x = compile_(f), torch.randn(3)
    compiled(x)
    s.scale = 5.0
    torch.testing.assert_close(compiled(x), x * 5.0 + 5.0)


class Counting:
    """An object that counts who asks it for attributes."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.scale = 2.0

    def __getattribute__(self, name: str) -> Any:
        if name not in ("asked", "scale"):
            super().__getattribute__("asked").append(name)
        return super().__getattribute__(name)


def test_nobody_but_the_program_asks_a_getattribute_of_the_users() -> None:
    c = Counting()

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * c.scale

    made = capture(f, (torch.randn(3),))
    assert object.__getattribute__(c, "asked") == []
    torch.testing.assert_close(made(torch.ones(5)), torch.full((5,), 2.0))


@dataclasses.dataclass
class Pair:
    """Fields of every kind."""

    first: Any
    second: Any = 3
    third: list[Any] = dataclasses.field(default_factory=list)
    passed: dataclasses.InitVar[int] = 7
    fourth: Any = dataclasses.field(default=1, kw_only=True)

    def __post_init__(self, passed: int) -> None:
        self.total = self.first * passed + self.fourth


@pytest.mark.parametrize(
    ("args", "named"),
    [((), {}), ((5,), {}), ((5, [1]), {"passed": 2}), ((5,), {"fourth": 9, "passed": 4})],
)
def test_the_arguments_of_a_dataclass(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    def f(x: torch.Tensor) -> Any:
        p = Pair(x, *args, **named)
        return p.total, p.second, len(p.third), p.fourth

    made, x = capture(f, (torch.randn(3),)), torch.randn(4)
    got, want = made(x), f(x)
    torch.testing.assert_close(got[0], want[0])
    assert got[1:] == want[1:]


@pytest.mark.parametrize(
    "call",
    [lambda x: Pair(), lambda x: Pair(x, nope=1), lambda x: Pair(x, 1, [], 2, 3)],
)
def test_wrong_arguments_of_a_dataclass_raise_as_in_eager(call: Any) -> None:
    with pytest.raises(TypeError) as eager:
        call(torch.ones(3))
    with pytest.raises(TypeError) as traced:
        capture(call, (torch.ones(3),))
    assert str(traced.value).splitlines()[0] == str(eager.value)


class Twice(torch.nn.Module):
    """A layer that is called for the second time after something about it may have changed."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x))


def _hook(m: Any, args: Any, out: Any) -> Any:
    return out + 1


def test_layers_of_one_class_have_their_own_hooks_and_forwards() -> None:
    m = Twice().eval()
    m.b.register_forward_hook(_hook)
    x = torch.randn(3, 4)
    torch.testing.assert_close(capture(m, (x,))(x), m(x))
    m = Twice().eval()
    object.__setattr__(m.b, "forward", lambda x: x * 3)
    torch.testing.assert_close(capture(m, (x,))(x), m(x))


def test_a_hook_that_comes_later_is_seen() -> None:
    m = Twice().eval()
    compiled, x = compile_(m), torch.randn(3, 4)
    compiled(x)
    m.b.register_forward_hook(_hook)
    torch.testing.assert_close(compiled(x), m(x))


class Held:
    """An object that a program reads."""

    scale = 2.0


def test_a_program_keeps_nothing_of_the_traces_of_branches_that_raise() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 8:
            raise ValueError("too long")
        return x * Held.scale

    gc.collect()
    before = _tracers()
    program = export(f, (torch.randn(3),), dynamic_shapes=({0: "n"},))
    gc.collect()
    assert [str(r.error) for r in program.refused] == ["too long"]
    assert _tracers() - before == len(program.variants) == 1
    assert not program.variants[0].tracer.recorder.known
    assert any(c.value == "2.0" for c in program.constants)


def _tracers() -> int:
    return sum(isinstance(x, Tracer) for x in gc.get_objects() if type(x).__name__.endswith("er"))
