# ruff: noqa: D102  the protocol says what each method does
"""torch's ShapeEnv, through `torch.SymInt` as users reach it.

Its caches, and those of sympy below it, are one for the process; a session starts by clearing them.
"""

from __future__ import annotations

import logging
from functools import reduce
from operator import and_, or_
from typing import Any

import torch
from sympy.core.cache import clear_cache
from torch._dynamo.source import ConstantSource
from torch.fx.experimental import sym_node, symbolic_shapes
from torch.fx.experimental.symbolic_shapes import (
    DimDynamic,
    ShapeEnv,
    guard_or_false,
    statically_known_false,
    statically_known_true,
)

from benchmarks.adapters import Session

logging.getLogger("torch").setLevel(logging.ERROR)


_CACHED = [
    value
    for holder in (symbolic_shapes, ShapeEnv, sym_node)
    for value in vars(holder).values()
    if callable(getattr(value, "cache_clear", None))
]


class Adapter(Session):
    """A ShapeEnv without duck sizing."""

    title = f"torch {torch.__version__.partition('+')[0]}"

    def __init__(self) -> None:
        clear_cache()
        for cached in _CACHED:
            cached.cache_clear()
        self.env = ShapeEnv(duck_shape=False)
        self.count = 0

    def unbacked(self) -> Any:
        return self.env.create_unbacked_symint()

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        u = self.env.create_unbacked_symint()
        torch._check(u >= lo)
        if hi is not None:
            torch._check(u <= hi)
        return u

    def backed(self, hint: int) -> Any:
        self.count += 1
        symbol = self.env.create_symbol(
            hint, source=ConstantSource(f"x{self.count}"), dynamic_dim=DimDynamic.DYNAMIC
        )
        return self.env.create_symintnode(symbol, hint=hint)

    def learn(self, condition: Any) -> None:
        torch._check(condition)

    def holds(self, condition: Any) -> object:
        return statically_known_true(condition)

    def fails(self, condition: Any) -> object:
        return statically_known_false(condition)

    def guard_or_false(self, condition: Any) -> bool:
        return guard_or_false(condition)

    def reread(self, number: Any) -> Any:
        return number.node.expr

    def vocabulary(self) -> dict[str, Any]:
        return {
            "all_of": lambda *parts: reduce(and_, parts),
            "any_of": lambda *parts: reduce(or_, parts),
            "max": torch.sym_max,
            "min": torch.sym_min,
        }
