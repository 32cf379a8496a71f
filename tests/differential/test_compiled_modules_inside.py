"""A compiled module is the module itself: for a function around it, and for hooks and states.

What a compiled function reads of it, calls or changes is that of the original, on every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import anyshape
from anyshape.trace.record.foreign import territory

if TYPE_CHECKING:
    from collections.abc import Callable


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.k = 2
        self.log: list[int] = []
        self.inner = nn.Linear(1, 1)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.log.append(len(x))
        return x * self.k

    def other(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.k

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().state_dict(*args, **kwargs), "extra": torch.ones(1)}


def called(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m(x) + 1


def forward(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.forward(x) + 1


def attribute(m: Any, x: torch.Tensor) -> torch.Tensor:
    return x * m.k


def method(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.other(x) * m.inner.weight


def assigned(m: Any, x: torch.Tensor) -> torch.Tensor:
    m.k = m.k + 1
    return x * m.k


def parameters(m: Any, x: torch.Tensor) -> torch.Tensor:
    return m.inner(x[:, None]) * len(list(m.parameters()))


def mode(m: Any, x: torch.Tensor) -> torch.Tensor:
    m.count.add_(1)
    m.train(not m.training)
    return x + m.count if m.training else x - m.count


def state(m: Any, x: torch.Tensor) -> torch.Tensor:
    return x * (2 if m.training else 3) + sum(p.sum() for p in m.state_dict().values())


PROGRAMS = (called, forward, attribute, method, assigned, parameters, mode, state)


def difference(program: Callable[[Any, torch.Tensor], torch.Tensor], dynamic: Any) -> str:
    """What a function around a compiled module does otherwise than around the module."""
    eager, original = Model(), Model()
    module = anyshape.compile(original)
    compiled = anyshape.compile(lambda x: program(module, x), dynamic=dynamic)
    for i, n in enumerate((2, 3, 1, 0, 4)):
        if i == 2:
            original.k = eager.k = 7
        if i == 3:
            module.k = eager.k = 9
        if i == 4:
            original.eval()
            eager.eval()
        x = torch.arange(n) + 1.0
        if not torch.equal(compiled(x), program(eager, x)):
            return f"call {i}"
    for name in ("k", "log", "training", "count"):
        if not getattr(original, name) == getattr(module, name) == getattr(eager, name):
            return name
    return ""


@pytest.mark.parametrize("dynamic", [None, "unbacked"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_function_around_a_compiled_module(program: Any, dynamic: Any) -> None:
    assert difference(program, dynamic) == ""


def test_attributes_that_are_not_recorded_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the methods of a compiled module run as they are."""
    monkeypatch.setattr(territory, "_always", set())
    assert difference(attribute, "unbacked") != ""


def test_hooks_of_a_compiled_module_run() -> None:
    seen: list[Any] = []
    module = anyshape.compile(nn.Linear(2, 2))
    module.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    module.register_forward_hook(lambda m, args, out: seen.append(m) or out * 2)
    module.register_full_backward_hook(lambda m, given, out: seen.append(out[0].shape))
    x = torch.ones(3, 2, requires_grad=True)
    expected = module.original(x + 1) * 2
    for _ in range(2):
        torch.testing.assert_close(module(x), expected)
    module(x).sum().backward()
    assert seen == [module, module, module, (3, 2)]
    outer = anyshape.compile(lambda x: module(x) + 1)
    for n in (3, 4):
        given = torch.ones(n, 2)
        torch.testing.assert_close(outer(given), module.original(given + 1) * 2 + 1)
    assert seen[4:] == [module, module]


def test_states_are_those_of_the_original() -> None:
    original = Model()
    original.inner.register_state_dict_post_hook(lambda m, state, *_: state.update(hooked=1))
    assert anyshape.compile(original).state_dict().keys() == original.state_dict().keys()
    inner = anyshape.compile(original.inner)
    assert inner.state_dict().keys() == {"weight", "bias", "hooked"}
    original.eval()
    assert not anyshape.compile(original).training
    assert not anyshape.compile(original).eval().training
