"""Python around the tensors that exported programs go through: made objects, text, contexts."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from anyshape import export

if TYPE_CHECKING:
    from collections.abc import Iterator


class Guarded(OrderedDict):  # type: ignore[type-arg]
    """A dict whose methods call those of its base."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key)

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(key)

    def __len__(self) -> int:
        return super().__len__()

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, default)


class Frozen(dict):  # type: ignore[type-arg]
    """A dict that its `__new__` fills in."""

    def __new__(cls, **parts: Any) -> Frozen:
        self = super().__new__(cls)
        object.__setattr__(self, "_hash", -1)
        return self


class Point:
    def __init__(self, v: Any) -> None:
        self.v = v

    def expand(self, n: int) -> Point:
        new = self.__new__(type(self))
        new.v = self.v * n
        return new


class Mode(str, Enum):  # noqa: UP042  as libraries write it
    LEFT = " left "


@contextmanager
def plainly() -> Iterator[None]:
    yield


@contextmanager
def finally_() -> Iterator[list[int]]:
    seen = [1]
    try:
        yield seen
    finally:
        seen.append(2)


def own_dict(x: torch.Tensor, y: torch.Tensor) -> Any:
    d = Guarded(a=2, b=x.size(0))
    return x * d["a"] * len(d) + ("a" in d) * d.get("b") + d.get("c", 5)


TABLE = Guarded(a=2, b=3)


def outside_dict(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x * TABLE["a"] * len(TABLE) + ("a" in TABLE) * TABLE.get("b") + TABLE.get("c", 5)


def frozen(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x * Frozen(k=3)["k"]


def expanded(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x * Point(2).expand(x.size(0)).v


def text(x: torch.Tensor, y: torch.Tensor) -> Any:
    return x * len(Mode.LEFT.strip()) * Mode.LEFT.count("l")


def array_class(x: torch.Tensor, y: torch.Tensor) -> Any:
    kinds = {np.ndarray: 2, torch.Tensor: 3}
    return x * kinds[np.ndarray] * (getattr(np.ndarray, "__name__", "") == "ndarray")


def within(x: torch.Tensor, y: torch.Tensor) -> Any:
    with plainly(), finally_() as seen:
        return x + y + len(seen)


def scattered(x: torch.Tensor, y: torch.Tensor) -> Any:
    with finally_():
        return torch.stack([x, y])


@pytest.mark.parametrize(
    "fn", [own_dict, outside_dict, frozen, expanded, text, array_class, within, scattered]
)
@pytest.mark.filterwarnings("ignore:.* are two names")
def test_programs(fn: Any) -> None:
    program = export(fn, (torch.ones(3), torch.ones(3)), dynamic_shapes=({0: "n"}, {0: "m"}))
    sizes = [(3, 3), (1, 4), (4, 1), (0, 1), (5, 5), (2, 3)]
    report = program.verify(*[(torch.rand(n), torch.rand(m)) for n, m in sizes])
    assert report.ok, str(report)
    assert program.is_complete
