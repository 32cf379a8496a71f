"""Modules whose forward assigns attributes: right or refused, and as before the trace."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

from anyshape.errors import UnsupportedError
from anyshape.trace import capture
from anyshape.trace.options import REFUSED, TraceOptions
from anyshape.trace.tracer import Tracer
from tests.differential.agree import KINDS, Dynamic

if TYPE_CHECKING:
    Tensor = torch.Tensor

B = 3


class Attributes(nn.Module):
    """A module with attributes that a forward may assign."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.count = 0
        self.cache: Any = None
        self.log: list[Any] = []
        self.named: dict[str, Any] = {}
        self.register_buffer("mean", torch.zeros(4))


class AssignsABuffer(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.mean = self.mean * 0.9 + x.mean(0)
        return self.linear(x) + self.mean


class AssignsATensor(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.cache = x * 2
        return self.linear(x)


class AssignsATensorOnce(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        if self.cache is None:
            self.cache = x.sum() * 2
        return self.linear(x) + self.cache


class Counts(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        return self.linear(x) * self.count


class Logs(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.log.append(x)
        return self.linear(x)


class Names(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.named["last"] = x
        return self.linear(x)


class AssignsANewAttribute(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.added = [x]
        return self.linear(x)


class AssignsAParameter(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        self.linear.weight = nn.Parameter(torch.ones(4, 4))
        return self.linear(x)


class Deletes(Attributes):
    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        if hasattr(self, "count"):
            del self.count
        return y


ASSIGNING = (
    AssignsABuffer, AssignsATensor, AssignsATensorOnce, Counts, Logs, Names,
    AssignsANewAttribute, AssignsAParameter, Deletes,
)  # fmt: skip


def attributes(module: nn.Module) -> list[Any]:
    """What the modules hold, with containers as they are now."""
    found = []
    for m in module.modules():
        for name, value in vars(m).items():
            inside = list(value.items()) if isinstance(value, dict) else value
            inside = list(inside) if isinstance(inside, list) else inside
            found.append((name, id(value), pytree.tree_map(id, inside)))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", ASSIGNING)
def test_attributes_that_the_forward_assigns(make: Any, kind: str) -> None:
    module = make()
    twin = copy.deepcopy(module)
    before = attributes(module)
    try:
        tracer = Tracer(options=TraceOptions(effects=REFUSED))
        sizes = Dynamic(kind, {B: {}})
        captured = capture(module, (torch.randn(B, 4),), dynamic=sizes, tracer=tracer)
    except UnsupportedError:
        captured = None
    assert attributes(module) == before
    for n in (2, 5, 3) if captured else ():
        x = torch.randn(n, 4)
        torch.testing.assert_close(captured(x), twin(x))
