"""What a function adds to lists, dicts and sets from outside is not exported."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape import EffectError, export


class Keeping(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bank: list[Any] = ["first"]
        self.table: dict[str, Any] = {"old": 1, "kept": 2}
        self.names: set[str] = {"a"}


class Added(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1
        self.bank.append(y)
        self.bank.extend([(x.size(0), "text"), [x * 2]])
        self.table["old"] = y
        self.table["new"] = {"y": y}
        self.names.add("b")
        return y * self.table["kept"]


class Node:
    def __init__(self, tensor: Any) -> None:
        self.tensor, self.other = tensor, None


class Objects(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        a, b = Node(x + 1), Node(x + 2)
        a.other, b.other = b, a
        self.bank.append(a)

        def later(y: Any) -> Any:
            return x * y

        self.bank.append(later)
        return x - 1


class ByData(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.sum() > 1:
            self.bank.append(x)
            return x + 1
        self.bank.append(-x)
        return x


class Counted(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.append(x)
        return x + len(self.bank)


class FirstItem(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.append(x)
        return x, self.bank[0]


class OfOtherSize(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + len(self.bank)
        self.bank.append(1)
        return x


class OfOtherKey(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + self.table["old"]
        self.table["old"] = 7
        return x


class OfOtherAttribute(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        if x.size(0) > 4:
            return x + (1 if self.bank is None else 2)
        self.bank = None
        return x


class Removed(Keeping):
    def forward(self, x: torch.Tensor) -> Any:
        self.bank.clear()
        return x


def exported(module: Any) -> Any:
    return export(module, (torch.ones(3),), dynamic_shapes=({0: "n"},))


KINDS = (
    *(Added, Objects, ByData, Counted, FirstItem),
    *(OfOtherSize, OfOtherKey, OfOtherAttribute, Removed),
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_outlives_a_call_is_refused(kind: Any) -> None:
    """An error after an addition, or another name for what is added, would show the difference."""
    module = kind()
    with pytest.raises(EffectError):
        exported(module)
    assert module.bank == ["first"]
    assert module.table == {"old": 1, "kept": 2}
    assert module.names == {"a"}
