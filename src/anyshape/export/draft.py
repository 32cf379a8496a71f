"""The problems of a draft: what would have been an error, a warning or a difference, all at once.

A draft goes on where an export ends: a question that only data answers, an op without a shape rule,
a size that is narrower than declared, a branch on sizes that cannot be exported, a change outside
that the program cannot repeat. The program is made, and lists what it lacks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.export.spec.specialized_dim import narrowed, violations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.export.explore import Exploration
    from anyshape.export.spec.dynamic_shapes import Spec


class Problem(NamedTuple):
    """One problem: what is wrong, why, with the user's line, and what to do about it."""

    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        rest = [f"  {title}: {text}" for title, text in (("why", self.why), ("fix", self.fix))]
        return "\n".join([self.what, *[line for line in rest if not line.endswith(": ")]])


def problems_of(found: Exploration, spec: Spec) -> list[Problem]:
    """All problems of a draft, each once."""
    listed = [*found.assumed, *_effects(found), *_sizes(found, spec), *_deviations(found)]
    return list(dict.fromkeys(listed))


def _effects(found: Exploration) -> Iterator[Problem]:
    for variant, _ in found.traces:
        recorder = variant.tracer.recorder
        for error in recorder.left_out if recorder is not None else ():
            yield Problem(error.what, "the program leaves it out", error.fix)


def _sizes(found: Exploration, spec: Spec) -> Iterator[Problem]:
    first: dict[frozenset[str], Problem] = {}  # of many refused values of a size, the first
    for error, labels, _ in violations(found, spec):
        first.setdefault(labels, Problem(error.what, error.why, error.fix))
    yield from first.values()
    for text in narrowed(found, spec):
        what, _, why = text.partition("\n  why: ")
        yield Problem(what, why, "declare the size as it is, or change the lines above")


def _deviations(found: Exploration) -> Iterator[Problem]:
    for variant in found.variants:
        for d in variant.deviations:
            fix = 'declare bounds that exclude it, or use on_deviation="raise"'
            yield Problem(f"the program may differ from eager execution: {d}", "", fix)
