"""Two names of the spec for sizes that a broadcast ties to each other: a typo, perhaps."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from anyshape.errors import AnyshapeWarning
from anyshape.expr.boolean import EQ
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.env import Obligation
    from anyshape.export.explore import Exploration
    from anyshape.export.spec.dynamic_shapes import Spec


def warn_of_ties(found: Exploration, spec: Spec) -> None:
    """Warn if two names are equal in the variant that serves the example, and differ in others."""
    (first, guards), *rest = found.traces
    for guard in guards if rest else ():
        equal = _equal(guard, first.tracer.env.sources)
        names = [name for name in spec.names if name in equal]
        if len(names) == 2:
            a, b = names
            warnings.warn(
                f"{a} and {b} are two names in dynamic_shapes, and the program takes them for"
                f" equal: {guard.describe()}\n  why: where they differ, the program serves the"
                f" sizes that broadcast\n  fix: write {a} for both if they are the same size",
                AnyshapeWarning,
                stacklevel=3,
            )


def _equal(guard: Obligation, sources: dict[str, str]) -> list[str]:
    """The labels of two symbols that a guard says are equal; none for any other guard."""
    condition = guard.condition
    if condition.op is not EQ or condition.expr.c:
        return []
    pairs = terms(condition.expr)
    if sorted(pairs.values()) != [-1, 1] or any(atom.op is not SYMBOL for atom in pairs):
        return []
    return [sources.get(atom.name, atom.name) for atom in pairs]
