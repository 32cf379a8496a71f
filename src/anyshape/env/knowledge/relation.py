"""The known linear relations on few atoms, filed under each atom by the side that they bound.

`f >= 0` in which an atom has a positive coefficient bounds that atom from below; with a negative
coefficient, from above. An equality does both; `f != 0` does neither. So a search that needs one
side of an atom never looks at relations about the other side, however many there are.

An equality that was solved for an atom is a definition: the replacement says all of it, and only
ranges propagate through it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from anyshape.expr import boolean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anyshape.env.fact import Fact
    from anyshape.expr import Bool

    Bucket = dict["Relation", bool]

LOWER: Final = 1
UPPER: Final = 2


class Relation:
    """A relation on few atoms (`condition` is `expr >= 0`, `== 0` or `!= 0`) and its fact."""

    __slots__ = ("condition", "fact", "is_definition")

    def __init__(self, condition: Bool, fact: Fact, *, is_definition: bool = False) -> None:
        self.condition = condition
        self.fact = fact
        self.is_definition = is_definition

    def bucket_in(self, related: Related, coefficient: int) -> Bucket:
        """Where it is filed under an atom that has this coefficient in it."""
        op = self.condition.op
        if op == boolean.GE:
            return related.below if coefficient > 0 else related.above
        if op == boolean.NE:
            return related.unequal
        return related.definitions if self.is_definition else related.equal


class Related:
    """The relations that mention one atom; each bucket is in the order of learning."""

    __slots__ = ("above", "below", "definitions", "equal", "unequal")

    def __init__(self) -> None:
        self.below: Bucket = {}  # the atom has a positive coefficient: a lower bound
        self.above: Bucket = {}  # the atom has a negative coefficient: an upper bound
        self.equal: Bucket = {}
        self.unequal: Bucket = {}
        self.definitions: Bucket = {}

    def __iter__(self) -> Iterator[Relation]:
        return chain(self.below, self.above, self.equal, self.unequal, self.definitions)

    def that_narrow(self, ends: int) -> Iterator[Relation]:
        """The relations from which other ranges may follow when these ends of the atom move.

        In `f >= 0` the others make up for the largest value of the atom's term: its upper end where
        the coefficient is positive, its lower end where it is negative.
        """
        return chain(
            self.definitions,
            self.equal,
            self.below if ends & UPPER else (),
            self.above if ends & LOWER else (),
        )
