"""Conditions on the identity of containers and objects among the arguments of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.trace.argument.condition import Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.argument.condition import Scope
    from anyshape.trace.record.read.watch import Watch

_SHARED: Final = "a container is given twice"
_ALIASED: Final = "a container that is given is read elsewhere, too"


class SameObject(NamedTuple):
    """An argument is, or is not, an object from outside that the program compared it with."""

    place: int
    object: Any
    same: bool

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        word = "is" if self.same else "is not"
        return f"{scope.inputs[self.place]} {word} {scope.name(self.object)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        what = f"an object of class {type(self.object).__name__} from outside"
        words = ("that object", "another one")
        expected, actual = words if self.same else words[::-1]
        return Violation(f"an argument that is compared with {what}", expected, actual)


class DistinctObjects(NamedTuple):
    """Containers among the arguments that were different objects are different objects."""

    names: tuple[str, ...]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        return f"len({{{', '.join(f'id({x})' for x in self.names)}}}) == {len(self.names)}"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(_SHARED, sentence=_SHARED)


class Apart(NamedTuple):
    """No container among the arguments is one that the program reads elsewhere, as it writes."""

    watch: Watch
    names: tuple[str, ...]

    def source(self, scope: Scope) -> str:
        """See `Condition`."""
        ids = "".join(f"id({x}), " for x in self.names)
        return f"{scope.name(self.watch)}.owners.isdisjoint(({ids}))"

    def violation(self, flat: Sequence[Any]) -> Violation:
        """See `Condition`."""
        return Violation(_ALIASED, sentence=_ALIASED)
