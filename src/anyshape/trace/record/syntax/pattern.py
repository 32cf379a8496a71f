"""What the patterns of `match` look at: items, keys, members. See `twin/pattern.py`.

Each hook gives the parts that a pattern needs as a tuple, or None where the subject has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.tensor.sym_tensor import SymSize
from anyshape.trace.record.read.read import MISSING
from anyshape.trace.sequence.sym_list import SymList

if TYPE_CHECKING:
    from anyshape.trace.record.call.call import Calls
    from anyshape.trace.record.recorder import Recorder

# flags of classes, by which Python knows what a pattern may take apart
_SEQUENCE: Final = 1 << 5
_MAPPING: Final = 1 << 6
_SELF: Final = 1 << 22  # `case int(n)` gives the number itself


class PatternReads:
    """The hooks for patterns."""

    calls: Calls

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def items_of(self, o: Any, count: int, at_least: bool) -> tuple[Any, ...] | None:
        """The items of a sequence of this length, or one that is not shorter."""
        kind = self._recorder.kind(o)
        if kind is SymList:
            raise self._recorder.unsupported("a list of unknown length is matched by a pattern")
        if not kind.__flags__ & _SEQUENCE and kind is not SymSize:
            return None
        containers, operators = self.calls.containers, self.calls.operators
        n = containers.length(o)
        if not operators.truth(operators.ge(n, count) if at_least else operators.eq(n, count)):
            return None
        if at_least:
            return tuple(containers.iterated(o))
        return tuple([containers.item(o, i) for i in range(count)])

    def rest_of_items(self, items: tuple[Any, ...], start: int, end: int | None) -> Any:
        """The items that a star takes."""
        return self._recorder.born(list(items[start:end]))

    def values_of(self, o: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The values of a mapping at these keys, and last the mapping with the keys."""
        if not self._recorder.kind(o).__flags__ & _MAPPING:
            return None
        containers = self.calls.containers
        found = []
        for key in keys:
            if not containers.contains(key, o):
                return None
            found.append(containers.item(o, key))
        return (*found, (o, keys))

    def rest_of_mapping(self, found: tuple[Any, ...]) -> Any:
        """The items at other keys."""
        o, keys = found[-1]
        whole = dict(self.calls.containers.mapping(o))
        for key in keys:
            del whole[key]
        return self._recorder.born(whole)

    def members_of(
        self, o: Any, cls: Any, count: int, names: tuple[str, ...]
    ) -> tuple[Any, ...] | None:
        """The members of an object of a class: those that it names by place, and by name."""
        attributes = self.calls.attributes
        if not isinstance(cls, type):
            raise TypeError("called match pattern must be a class")
        if not self.calls.ready(isinstance)(o, cls):
            return None
        found: list[Any] = []
        if count:
            listed = attributes.optional(cls, "__match_args__", MISSING)
            if listed is MISSING and cls.__flags__ & _SELF:
                found, count = [o], count - 1
                listed = ()
            listed = () if listed is MISSING else listed
            if count > len(listed):
                allowed = len(listed) + len(found)
                raise TypeError(
                    f"{cls.__name__}() accepts {allowed} positional sub-pattern"
                    f"{'' if allowed == 1 else 's'} ({count + len(found)} given)"
                )
            names = (*listed[:count], *names)
        for name in names:
            value = attributes.optional(o, name, MISSING)
            if value is MISSING:
                return None
            found.append(value)
        return tuple(found)
