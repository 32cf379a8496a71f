# ruff: noqa: D102  the protocol says what each method does
"""symengine: fast canonical sums; no assumptions, so only equalities can be proved."""

from __future__ import annotations

from typing import Any

import symengine

from benchmarks.adapters import Unsupported, sympy_


class Adapter(sympy_.Adapter):
    """Symbols without assumptions."""

    title = f"symengine {symengine.__version__}"

    def unbacked(self) -> Any:
        self.count += 1
        return symengine.Symbol(f"u{self.count}")

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        return self.unbacked()

    def holds(self, condition: Any) -> object:
        difference, equal = condition
        if not equal:
            raise Unsupported
        return symengine.expand(difference) == 0

    def reread(self, number: Any) -> Any:
        return number.subs(self.replacement)

    def vocabulary(self) -> dict[str, Any]:
        return super().vocabulary() | {"max": symengine.Max, "min": symengine.Min}
