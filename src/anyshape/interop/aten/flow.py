"""`Flow`: how the segments of a program that branches on data follow each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Name

if TYPE_CHECKING:
    from collections.abc import Sequence


class Flow:
    """The segments of one program, each with the captured calls and the branch at its end."""

    def __init__(self, segments: Sequence[Any]) -> None:
        self.segments = segments

    def next_of(self, number: int) -> list[int]:
        """The segments that may follow one."""
        branch = self.segments[number][1]
        return [] if branch is None else list(dict.fromkeys(branch.targets.values()))

    def reach(self, start: int, without: set[int]) -> set[int]:
        """The segments on paths from `start` that stop where they come to those of `without`."""
        found: set[int] = set()
        todo = [start]
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo += [] if number in without else self.next_of(number)
        return found

    def is_in_loop(self, target: int, header: int, stop: int | None) -> bool:
        """Whether a path leads from a segment back to an earlier one, before `stop`."""
        return header in self.reach(target, {header} | ({stop} if stop is not None else set()))

    def join(self, targets: Sequence[int], stop: int | None) -> int | None:
        """The first segment that all paths from several come to, `stop` if that is it; None where
        there is none before the program ends.
        """
        ends = {stop} if stop is not None else set()
        common = set.intersection(*[self.reach(t, ends) for t in targets])
        always = [c for c in common if all(self._passes(t, c, stop) for t in targets)]
        for c in always:
            if all(d == c or d in self.reach(c, ends) for d in always):
                return c
        return None

    def _passes(self, start: int, through: int, stop: int | None) -> bool:
        """Whether all paths from a segment come to another one."""
        reached = self.reach(start, {through} | ({stop} if stop is not None else set()))
        return not any(
            (number == stop or not self.next_of(number)) for number in reached if number != through
        )

    def unchanged(self, header: int, first: int) -> set[int]:
        """The places of the frame of a loop that every round leaves as they were."""
        count = len(self.segments[header][0].inputs.leaves)
        alive = set(range(count))
        seen: dict[int, list[int | None]] = {}
        todo = [(first, self._moved(header, list(range(count))))]
        while todo:
            number, origins = todo.pop()
            if number == header:
                alive -= {i for i in alive if origins[i] != i}
                continue
            before = seen.get(number)
            if before is not None:
                origins = [a if a == b else None for a, b in zip(before, origins, strict=True)]
                if origins == before:
                    continue
            seen[number] = origins
            after = self._moved(number, origins)
            todo += [(n, after) for n in self.next_of(number)]
        return alive

    def _moved(self, number: int, origins: Sequence[int | None]) -> list[int | None]:
        """Where the parts of the frame after a segment were, if they were before it."""
        captured, branch = self.segments[number]
        inputs = captured.inputs
        places: dict[Any, int] = {
            leaf.value: i for i, leaf in enumerate(inputs.leaves) if leaf.value is not None
        }
        names = {b.name: b.leaf for b in inputs.binds if b.dim is None and b.factor == 1}
        outputs = captured.graph.outputs if branch is None else captured.graph.outputs[:-1]
        found: list[int | None] = []
        for x in outputs:
            label = str(x.expr) if type(x) is SymInt else x if type(x) is Name else None
            place = _place(places, x) if label is None else names.get(label)
            found.append(None if place is None else origins[place])
        return found


def _place(places: dict[Any, int], x: Any) -> int | None:
    return places.get(x) if getattr(type(x), "__hash__", None) is not None else None
