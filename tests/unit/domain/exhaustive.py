"""Check an operation on intervals against its meaning on integers, over every small interval.

The interval answer is right iff it holds the smallest and the largest concrete result, so it is
enough to know these two for every pair of intervals.  An infinite end is cut at a window: results
in the window must be held (sound); a finite end must be reached in the window, and an infinite end
must be justified by results that grow when the window does (tight).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from anyshape.domain import EVERYTHING, INF, NINF, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from anyshape.domain import Bound

REACH = 4
NARROW = 20
WIDE = 40


def is_within(interval: Interval, other: Interval) -> bool:
    """Whether every member of an interval is a member of the other."""
    return other.lo <= interval.lo and interval.hi <= other.hi


SMALL = [
    Interval(lo, hi)
    for lo in (NINF, *range(-REACH, REACH + 1))
    for hi in (*range(-REACH, REACH + 1), INF)
    if lo <= hi
]


class Operation(NamedTuple):
    """An operation on intervals, its meaning on integers, and the right operands it allows."""

    abstract: Callable[[Interval, Interval], Interval]
    concrete: Callable[[int, int], int]
    allows: Callable[[int], bool] = lambda _: True


def members(interval: Interval, window: int) -> range:
    return range(int(max(interval.lo, -window)), int(min(interval.hi, window)) + 1)


def hulls(operation: Operation, window: int) -> list[Interval | None]:
    """Return the smallest and largest concrete result for each pair, None where there is none."""
    numbers = range(-window, window + 1)
    rights = {y: i for i, y in enumerate(filter(operation.allows, numbers))}
    rows = {x: [operation.concrete(x, y) for y in rights] for x in numbers}
    columns = [[rights[y] for y in members(right, window) if y in rights] for right in SMALL]
    answers: list[Interval | None] = []
    for left in SMALL:
        own_rows = [rows[x] for x in members(left, window)]
        lows = [min(column) for column in zip(*own_rows, strict=True)]
        highs = [max(column) for column in zip(*own_rows, strict=True)]
        answers.extend(
            Interval(min(lows[i] for i in own), max(highs[i] for i in own)) if own else None
            for own in columns
        )
    return answers


def cases(operation: Operation) -> Iterator[tuple[Interval, Interval, Interval]]:
    """Yield each pair of small intervals with the answer on it."""
    for left in SMALL:
        for right in SMALL:
            yield left, right, operation.abstract(left, right)


def assert_sound(operation: Operation) -> None:
    for (left, right, answer), hull in zip(cases(operation), hulls(operation, WIDE), strict=True):
        if hull is None:
            assert answer == EVERYTHING, f"{left} {right}: undefined, but {answer}"
        else:
            assert is_within(hull, answer), f"{left} {right}: {hull} is not within {answer}"


def loose_pairs(operation: Operation) -> list[tuple[Interval, Interval]]:
    """Return the pairs on which the answer is larger than it has to be."""
    rows = zip(cases(operation), hulls(operation, NARROW), hulls(operation, WIDE), strict=True)
    return [
        (left, right)
        for (left, right, answer), narrow, wide in rows
        if narrow and wide and not is_hull(answer, narrow, wide)
    ]


def is_hull(answer: Interval, narrow: Interval, wide: Interval) -> bool:
    """Whether `answer` is what the results in a narrow and in a wide window tend to."""
    return _is_limit(-answer.lo, -narrow.lo, -wide.lo) and _is_limit(answer.hi, narrow.hi, wide.hi)


def _is_limit(end: Bound, narrow: Bound, wide: Bound) -> bool:
    return narrow < wide if end == INF else narrow == wide == end
