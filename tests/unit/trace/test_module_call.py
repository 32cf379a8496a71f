"""Every node knows the calls of modules that it is part of."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

import anyshape
from anyshape import export
from anyshape.trace import capture
from anyshape.trace.graph.graph import leaves
from anyshape.trace.higher_order.body import Body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyshape.trace.graph.graph import Node


def kinds(nodes: Iterable[Node]) -> list[str]:
    """The classes of the modules around each node, the outermost first."""
    return [
        ".".join([c.kind.__name__ for c in node.module_call.stack] if node.module_call else [])
        for node in nodes
    ]


def traced(fn: Callable[..., Any]) -> list[str]:
    return kinds(capture(fn, (torch.randn(3, 4),), dynamic="unbacked").graph.nodes)


class Called(nn.Module):
    """Calls a function with itself and the input."""

    def __init__(self, forward: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self._forward = forward

    def forward(self, x: torch.Tensor) -> Any:
        return self._forward(self, x)


def test_nested_modules() -> None:
    inner = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU()))
    model = Called(lambda m, x: m.inner(x) + 1, inner=inner)
    assert traced(model) == [
        "Called.Sequential.Linear",
        "Called.Sequential.Sequential.ReLU",
        "Called",
    ]


def test_a_function_has_no_module_and_calls_some() -> None:
    layer = nn.Linear(4, 4)
    assert traced(lambda x: layer(x + 1)) == ["", "Linear"]


def test_two_calls_of_a_module_are_two() -> None:
    model = Called(lambda m, x: m.inner(m.inner(x)), inner=nn.Linear(4, 4))
    first, second = capture(model, (torch.randn(3, 4),), dynamic="unbacked").graph.nodes
    assert first.module_call is not None
    assert second.module_call is not None
    assert first.module_call is not second.module_call
    assert first.module_call.module is second.module_call.module is model.inner
    assert first.module_call.outer is second.module_call.outer


def test_calls_that_do_not_go_through_the_module_are_of_the_caller() -> None:
    model = Called(lambda m, x: m.inner.forward(x), inner=nn.Linear(4, 4))
    assert traced(model) == ["Called"]


def test_members_of_lists_are_called_by_the_module_that_iterates() -> None:
    def forward(m: Any, x: torch.Tensor) -> torch.Tensor:
        for layer in m.layers:
            x = layer(x)
        for layer in m.steps:
            x = layer(x)
        return x

    layers = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
    model = Called(forward, layers=layers, steps=nn.Sequential(nn.ReLU()))
    assert traced(model) == ["Called.Linear", "Called.Tanh", "Called.ReLU"]


def test_hooks_are_part_of_the_call() -> None:
    inner = nn.Linear(4, 4)
    inner.register_forward_hook(lambda _, __, out: out * 2)
    inner.register_forward_pre_hook(lambda _, args: (args[0] + 1,))
    model = Called(lambda m, x: m.inner(x) - 1, inner=inner)
    assert traced(model) == ["Called.Linear", "Called.Linear", "Called.Linear", "Called"]


def test_a_call_of_its_own_class() -> None:
    class Own(nn.Module):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    assert traced(Called(lambda m, x: m.inner(x), inner=Own())) == ["Called.Own"]


def test_a_call_that_raises_has_ended() -> None:
    def broken(_: Any, x: torch.Tensor) -> torch.Tensor:
        raise ValueError

    def forward(m: Any, x: torch.Tensor) -> torch.Tensor:
        try:
            return m.inner(x)
        except ValueError:
            return x + 1

    assert traced(Called(forward, inner=Called(broken))) == ["Called"]


def test_modes_are_set_in_the_module_that_sets_them() -> None:
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x * 2

    model = Called(lambda m, x: m.inner(x) + 1, inner=Called(forward))
    found = traced(model)
    assert found[:2] == ["Called.Called", "Called.Called"]
    assert found[-1] == "Called"


def test_bodies_of_higher_order_calls() -> None:
    def forward(m: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: m.inner(t) + 1, lambda t: t - 1, (x,))

    nodes = capture(
        Called(forward, inner=nn.Linear(4, 4)), (torch.randn(3, 4),), dynamic="unbacked"
    ).graph.nodes
    bodies = [a for n in nodes for a in leaves(n.args) if type(a) is Body]
    assert [kinds(b.graph.nodes) for b in bodies] == [["Called.Linear", "Called"], ["Called"]]


def test_segments_of_programs_that_branch_on_data() -> None:
    def forward(m: Any, x: torch.Tensor) -> torch.Tensor:
        x = m.first(x)
        x = m.second(x) if x.sum() > 0 else x + 1
        return m.first(x)

    model = Called(forward, first=nn.Linear(4, 4), second=nn.ReLU())
    program = export(model, (torch.randn(3, 4),))
    found = {k for part in program.variants[0].parts for k in kinds(part.graph.nodes)}
    assert found == {"Called", "Called.Linear", "Called.ReLU"}


def test_parts_around_a_graph_break() -> None:
    def around(m: Any, x: torch.Tensor) -> torch.Tensor:
        x = m.first(x)
        if x.sum() > 0:
            x = x + 1
        return m.first(x)

    model = Called(lambda m, x: m.inner(x), inner=Called(around, first=nn.Linear(4, 4)))
    compiled: Any = anyshape.compile(model)
    x = torch.randn(3, 4)
    assert torch.equal(compiled(x), model(x))
    assert torch.equal(compiled(-x), model(-x))


def test_a_call_keeps_no_module_alive() -> None:
    def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    model = Called(forward)
    (node,) = capture(model, (torch.randn(3, 4),), dynamic="unbacked").graph.nodes
    assert node.module_call is not None
    assert node.module_call.module is model
    del model
    gc.collect()
    assert node.module_call.module is None
    assert node.module_call.kind is Called
