"""A program of a user, as type checkers see it: mypy and pyright must accept every line.

`assert_type` says what a checker must find. An ignored error is a wrong line that a checker must
refuse: if it does not, the comment is unused, which is an error too.
"""

from __future__ import annotations

from typing import Any, assert_type

import torch
from torch import Tensor, nn

import anyshape
from anyshape import Dim


def scale(x: Tensor, by: float = 2.0) -> Tensor:
    return x * by


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(x)
        return out


@anyshape.compile
def plain(x: Tensor, n: int) -> list[Tensor]:
    return [x] * n


@anyshape.compile(dynamic="unbacked", fullgraph=True)
def decorated(x: Tensor) -> Tensor:
    return x[x > 0]


class Layer:
    def __init__(self, by: float) -> None:
        self.by = by

    @anyshape.compile(dynamic=True)
    def step(self, x: Tensor) -> Tensor:
        return x * self.by


def compiled() -> None:
    """A compiled function has the signature of the function."""
    fast = anyshape.compile(scale, dynamic=True)
    assert_type(fast(torch.ones(3), by=3.0), Tensor)
    assert_type(plain(torch.ones(2), 2), list[Tensor])
    assert_type(decorated(torch.ones(3)), Tensor)
    layer = Layer(2.0)
    assert_type(layer.step(torch.ones(3)), Tensor)
    assert_type(fast.stats.traces, int)
    assert_type(fast.explain(), str)
    assert_type(len(fast.entries), int)
    fast.reset()

    module = anyshape.compile(Model(), mode=None)
    assert_type(module(torch.ones(2, 4)), Any)
    assert sum(p.numel() for p in module.parameters()) == 20


def exported() -> None:
    """The options of `export`, and what a program has."""
    batch = Dim("batch", min=1)
    twice = 2 * batch
    assert str(twice) == "2*batch"
    program = anyshape.export(
        Model(), (torch.ones(2, 4),), dynamic_shapes=({0: batch},), control_flow="raise"
    )
    assert_type(program, anyshape.ExportedProgram)
    assert_type(program.contract().is_complete, bool)
    assert_type(program.verify((torch.ones(3, 4),)).ok, bool)
    assert_type(anyshape.__version__, str)
    with anyshape.config.patch(logs="guards"):
        anyshape.config.recompile_limit = 8


def refused() -> None:
    """What a type checker must refuse; it is not run."""
    fast = anyshape.compile(scale)
    fast("x")  # type: ignore[arg-type]
    fast(torch.ones(3), but=3.0)  # type: ignore[call-arg]
    anyshape.compile(scale, dynamic="unbakced")  # type: ignore[call-overload]
    anyshape.compile(scale, dynamics=True)  # type: ignore[call-overload]
    anyshape.export(scale, (), control_flow="forest")  # type: ignore[arg-type]
    anyshape.export(scale, (), on_deviation="follows")  # type: ignore[arg-type]
    anyshape.config.stance = "force_eagre"  # type: ignore[assignment]
    Dim("n") * "2"  # type: ignore[operator]
    _ = anyshape.exprot  # type: ignore[attr-defined]
