# ruff: noqa: D102  the protocol says what each method does
"""anyshape through its public face: `ShapeEnv`, `SymInt` and the reasoning functions."""

from __future__ import annotations

from typing import Any

from anyshape import (
    ShapeEnv,
    check,
    guard_or_false,
    statically_known_false,
    statically_known_true,
    sym_and,
    sym_max,
    sym_min,
    sym_or,
)
from benchmarks.adapters import Session


class Adapter(Session):
    """What a user's program calls."""

    title = "SymInt"

    learn = staticmethod(check)
    holds = staticmethod(statically_known_true)
    fails = staticmethod(statically_known_false)
    guard_or_false = staticmethod(guard_or_false)

    def __init__(self) -> None:
        self.env = ShapeEnv()

    def unbacked(self) -> Any:
        return self.env.unbacked()

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        return self.env.unbacked(min=lo, max=hi)

    def backed(self, hint: int) -> Any:
        return self.env.backed(hint)

    def reread(self, number: Any) -> Any:
        return self.env.simplify(number)

    def vocabulary(self) -> dict[str, Any]:
        return {"all_of": sym_and, "any_of": sym_or, "max": sym_max, "min": sym_min}
