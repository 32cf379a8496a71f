# ruff: noqa: D102  the protocol says what each method does
"""TVM's analyzer of integer expressions, where TVM is installed.

Symbols are variables of 64 bits with a range; facts are scopes that stay open. `Adapter` asks as
TVM's own passes do; `Strong` asks with the greatest strength, which in builds that have z3 asks z3
where the analyzer has no answer.
"""

from __future__ import annotations

from typing import Any, Final

import tvm
from tvm import ir, sym, tirx

from benchmarks.adapters import Session

MOST: Final = 1 << 31  # so that a product of two sizes has at most 64 bits


class Adapter(Session):
    """One analyzer."""

    title = f"tvm {tvm.__version__.partition('.post')[0]}"
    strength = sym.ProofStrength.DEFAULT

    def __init__(self) -> None:
        self.analyzer = sym.Analyzer()
        self.scopes: list[Any] = []
        self.count = 0

    def unbacked(self) -> Any:
        self.count += 1
        return tirx.Var(f"u{self.count}", "int64")

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        u = self.unbacked()
        extent = MOST if hi is None else hi - lo + 1
        self.analyzer.bind(u, ir.Range.from_min_extent(lo, extent))
        return u

    def learn(self, condition: Any) -> None:
        scope = self.analyzer.constraint_scope(condition)
        scope.__enter__()  # for as long as the session
        self.scopes.append(scope)

    def holds(self, condition: Any) -> object:
        return self.analyzer.can_prove(condition, self.strength)

    def fails(self, condition: Any) -> object:
        return self.analyzer.can_prove(tirx.Not(condition), self.strength)

    def vocabulary(self) -> dict[str, Any]:
        return {"all_of": tirx.all, "any_of": tirx.any, "max": tirx.max, "min": tirx.min}


class Strong(Adapter):
    """The same with the greatest strength."""

    title = f"{Adapter.title} with z3"
    strength = sym.ProofStrength.SYMBOLIC_BOUND
