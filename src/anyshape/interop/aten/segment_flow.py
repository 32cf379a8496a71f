"""`Flow`: how the segments of a program that branches on data follow each other.

A flow is a view: of all answers of the branches those that are left, and the segments where a
stretch of the program ends. A loop is written three times, in a view each: its test, which tells
whether a round comes back to the header; a round that does; and the last one, which leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.graph.graph import Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    Edge = tuple[int, Any]


class Loop(NamedTuple):
    """The views of a loop. The test ends where it is known whether the round comes back, which is
    so at the segments of `returning`; those of `tested` are part of it.
    """

    test: Flow
    returning: frozenset[int]
    tested: frozenset[int]
    round: Flow
    last: Flow


class Flow:
    """The segments of one program, each with the captured calls and the branch at its end; the
    segments that are `ends`, and the answers that are not taken.
    """

    def __init__(
        self,
        segments: Sequence[Any],
        ends: frozenset[int] = frozenset(),
        cut: frozenset[Edge] = frozenset(),
    ) -> None:
        self.segments = segments
        self.ends = ends
        self._cut = cut

    def until(self, end: int) -> Flow:
        """The same up to another segment."""
        return Flow(self.segments, frozenset({end}), self._cut)

    def targets(self, number: int) -> dict[Any, int]:
        """The segments that may follow one, by the answers."""
        branch = self.segments[number][1]
        if branch is None:
            return {}
        return {a: t for a, t in branch.targets.items() if (number, a) not in self._cut}

    def next_of(self, number: int) -> list[int]:
        """The segments that may follow one."""
        return list(dict.fromkeys(self.targets(number).values()))

    def reach(self, start: int, stop: int | None = None) -> set[int]:
        """The segments on paths from `start` that stop where they come to an end, or to `stop`."""
        found: set[int] = set()
        todo = [start]
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo += [] if number in self.ends or number == stop else self.next_of(number)
        return found

    def comes_back(self, number: int) -> bool:
        """Whether a path leads from a segment back to it."""
        return any(number in self.reach(t, number) for t in self.next_of(number))

    def join(self, targets: Sequence[int]) -> int | None:
        """The first segment that all paths from several come to; None where there is none before
        the program ends.
        """
        common = set.intersection(*[self.reach(t) for t in targets])
        always = [c for c in common if all(self._passes(t, c) for t in targets)]
        for c in always:
            if all(d == c or d in self.reach(c) for d in always):
                return c
        return None

    def _passes(self, start: int, through: int) -> bool:
        """Whether all paths from a segment come to another one."""
        reached = self.reach(start, through)
        return not any(
            (number in self.ends or not self.next_of(number))
            for number in reached
            if number != through
        )

    # ------------------------------------------------------------------ loops

    def loop(self, header: int) -> Loop:
        """The loop of a segment that a path leads back to."""
        met = {s for t in self.next_of(header) for s in self.reach(t, header)} - self.ends
        inside = {s for s in met if any(header in self.reach(t, header) for t in self.next_of(s))}
        inside.add(header)
        edges = [(s, a, t) for s in inside for a, t in self.targets(s).items()]
        exits = {(s, a) for s, a, t in edges if t not in inside}
        leaving = {s for s, _ in exits}
        while more := {s for s, _, t in edges if t in leaving and t != header} - leaving:
            leaving |= more
        back = {(s, a) for s, a, t in edges if t == header or (t in inside and t not in leaving)}
        returning = frozenset(inside - leaving | {header})
        ends = returning | {t for _, _, t in edges if t not in inside}
        return Loop(
            Flow(self.segments, ends, self._cut),
            returning,
            frozenset(leaving),
            Flow(self.segments, frozenset({header}), self._cut | exits),
            Flow(self.segments, self.ends, self._cut | back),
        )

    def unchanged(self, header: int) -> set[int]:
        """The places of the frame of a loop that every round leaves as they were; of the view of a
        round.
        """
        count = len(self.segments[header][0].inputs.leaves)
        alive = set(range(count))
        seen: dict[int, list[int | None]] = {}
        moved = self._moved(header, list(range(count)))
        todo = [(target, moved) for target in self.next_of(header)]
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
