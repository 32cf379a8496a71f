# ruff: noqa: D102  the protocol says what each method does
"""JAX's shape polymorphism, where JAX is installed.

Its symbols are at least 1 and its constraints are text that is fixed when the scope is made, so
facts come in through `world` only and nothing can be learnt later. An equality that it cannot prove
it answers with False; an inequality is an error then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import core, export

from benchmarks.adapters import Session, Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping


class Adapter(Session):
    """One symbolic scope for each range of symbols."""

    title = f"jax {jax.__version__}"

    def __init__(self) -> None:
        self.scope = export.SymbolicScope()
        self.count = 0

    def unbacked(self) -> Any:
        return self.size()

    def size(self, lo: int = 0, hi: int | None = None) -> Any:
        if hi is not None or lo > 1:
            raise Unsupported
        self.count += 1
        return export.symbolic_shape(f"u{self.count}", scope=self.scope)[0]

    def backed(self, hint: int) -> Any:
        return self.size()

    def holds(self, condition: Any) -> object:
        return condition() is True

    def fails(self, condition: Any) -> object:
        return condition() is False

    def world(self, kinds: Mapping[str, str], facts: tuple[str, ...]) -> dict[str, Any]:
        bounds = []
        for name, kind in kinds.items():
            lo, dots, hi = ("2.." if kind == "backed" else kind).partition("..")
            if dots and int(lo) < 1:
                raise Unsupported
            if dots:
                bounds.append(f"{name} >= {lo}")
            if hi:
                bounds.append(f"{name} <= {hi}")
        texts = [_spelt(fact) for fact in (*bounds, *facts)]
        shape = export.symbolic_shape(", ".join(kinds), constraints=texts)
        return dict(zip(kinds, shape, strict=True))

    def compiled(self, text: str, names: str) -> Any:
        """A function that returns the question, unasked: JAX decides when it compares."""
        build = super().compiled(text, names)

        def question(*numbers: Any) -> Any:
            def ask() -> bool | None:
                try:
                    return bool(build(*numbers))
                except core.InconclusiveDimensionOperation:
                    return None

            return ask

        return question

    def vocabulary(self) -> dict[str, Any]:
        return {"max": core.max_dim, "min": core.min_dim}


def _spelt(fact: str) -> str:
    """A fact in JAX's grammar: remainders are functions, an equality has one term on its left."""
    if "//" in fact:
        raise Unsupported
    left, percent, right = fact.partition("%")
    if percent:
        divisor, relation, value = right.split(None, 2)
        return f"mod({left.strip()}, {divisor}) {relation} {value}"
    left, equal, right = fact.partition(" == ")
    return f"{right} == {left}" if equal and "+" in left else fact
