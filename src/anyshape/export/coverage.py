"""Whether some regions of sizes cover all sizes that a spec allows: a proof, or no answer.

For facts F, `covered(F)` holds if F is contradictory, or if F implies all guards of some region, or
if for a guard g both `covered(F and g)` and `covered(F and not g)` hold. The engine decides the
guards, so that the answer is about all sizes and not about those that were tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from anyshape.env import Env
from anyshape.errors import AnyshapeError, ConstraintError
from anyshape.expr import Bool, parse, symbol
from anyshape.expr.atom import can_raise
from anyshape.expr.boolean import negate
from anyshape.expr.real import Real
from anyshape.expr.traverse import nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_CASES: Final = 512


class Size(NamedTuple):
    """A symbol of the inputs: its name and the bounds of its type."""

    name: str
    least: float
    most: float


def is_covered(
    sizes: Sequence[Size], allowed: Sequence[Bool], regions: Iterable[Sequence[Bool]]
) -> bool:
    """Whether every value of `sizes` that is allowed lies in a region, as far as can be proved."""
    regions = [list(region) for region in regions]
    given = [*allowed, *[condition for region in regions for condition in region]]
    if any(type(node) is Real or can_raise(node) for node in nodes_below(given)):
        return False  # a condition without a value is as false as its opposite
    cases = _Cases(sizes, [str(p) for p in allowed], [[str(p) for p in r] for r in regions])
    try:
        return cases.covered(())
    except AnyshapeError:  # an expression that is too long, say
        return False


class _Cases:
    """The conditions as text, which each case reads into an environment of its own."""

    def __init__(self, sizes: Sequence[Size], allowed: list[str], regions: list[list[str]]) -> None:
        self.sizes = sizes
        self.allowed = allowed
        self.regions = regions
        self.left = _MAX_CASES

    def covered(self, facts: tuple[tuple[str, bool], ...]) -> bool:
        """Whether the regions cover the sizes for which some conditions are true or false."""
        self.left -= 1
        if self.left < 0:
            return False
        env = Env()
        for name, least, most in self.sizes:
            symbol(env.pool, name, least, most)
        try:
            for text in self.allowed:
                env.learn(_read(env, text))
            for text, is_true in facts:
                p = _read(env, text)
                env.learn(p if is_true else negate(p))
        except ConstraintError:
            return True  # there are no such sizes
        split = None
        answers: dict[str, bool | None] = {}
        for region in self.regions:
            open_text = None
            for text in region:
                if text not in answers:
                    answers[text] = env.prove(_read(env, text)).answer
                if answers[text] is False:
                    break
                if answers[text] is None and open_text is None:
                    open_text = text
            else:
                if open_text is None:
                    return True
                split = open_text if split is None else split
        return split is not None and all(
            self.covered((*facts, (split, is_true))) for is_true in (True, False)
        )


def _read(env: Env, text: str) -> Bool:
    found = parse(env.pool, text)
    assert type(found) is Bool
    return found
