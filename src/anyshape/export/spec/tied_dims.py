"""Two names of the spec for sizes that the program takes for equal: a typo, perhaps."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning
from anyshape.expr.boolean import EQ
from anyshape.expr.table.op import SYMBOL
from anyshape.expr.terms import terms

if TYPE_CHECKING:
    from anyshape.env import Obligation
    from anyshape.export.explore import Exploration
    from anyshape.export.spec.dynamic_shapes import Spec

_ALIKE: Final = 0.75


def warn_of_ties(found: Exploration, spec: Spec) -> None:
    """Warn if two names are equal in the variant that serves the example, and differ in others, or
    are alike.
    """
    (first, guards), *rest = found.traces
    for guard in guards:
        equal = _equal(guard, first.tracer.env.sources)
        names = [name for name in spec.names if name in equal]
        if len(names) == 2 and (rest or _are_alike(*names)):
            a, b = names
            why = (
                "where they differ, the program serves the sizes that broadcast"
                if rest
                else "where they differ, it raises"
            )
            warn(
                AnyshapeWarning(
                    f"{a} and {b} are two names in dynamic_shapes, and the program takes them for"
                    f" equal: {guard.describe()}",
                    why=why,
                    fix=f"write {a} for both if they are the same size",
                    code="AS704",
                )
            )


def _are_alike(a: str, b: str) -> bool:
    """Whether two names differ by a typo."""
    return SequenceMatcher(None, a.lower(), b.lower()).ratio() >= _ALIKE and len(a) > 2


def _equal(guard: Obligation, sources: dict[str, str]) -> list[str]:
    """The labels of two symbols that a guard says are equal; none for any other guard."""
    condition = guard.condition
    if condition.op is not EQ or condition.expr.c:
        return []
    pairs = terms(condition.expr)
    if sorted(pairs.values()) != [-1, 1] or any(atom.op is not SYMBOL for atom in pairs):
        return []
    return [sources.get(atom.name, atom.name) for atom in pairs]
