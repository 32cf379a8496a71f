"""Every small operand: what a constructor builds against what Python computes.

A `Case` is a constructor of one, two or three integers, checked at all values of its operands in
WINDOW, and with its symbols declared over all small ranges. Reused by the negative controls.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from anyshape.expr import Expr, Pool, evaluate, parse, show, symbol
from anyshape.expr.text.python import function

WINDOW = range(-4, 5)
NAMES = ("x", "y", "z")
UNDEFINED = (ZeroDivisionError, OverflowError, ValueError)


@dataclass(frozen=True, slots=True)
class Case:
    """`build` on expressions must be `meaning` on integers."""

    arity: int
    build: Callable[..., Any]
    meaning: Callable[..., Any]
    window: Sequence[int] = WINDOW

    def points(self) -> list[tuple[int, ...]]:
        return list(product(self.window, repeat=self.arity))

    def value(self, point: tuple[int, ...]) -> Any:
        """The value that Python gives, None where it raises."""
        try:
            return self.meaning(*point)
        except UNDEFINED:
            return None


def symbols(
    pool: Pool,
    ranges: Sequence[tuple[int | float, int | float]],
    hints: Sequence[int | None] = (None, None, None),
) -> list[Expr]:
    """Symbols x, y, z with the given ranges and hints."""
    rows = zip(NAMES, ranges, hints, strict=False)
    return [symbol(pool, name, lo, hi, hint) for name, (lo, hi), hint in rows]


def assert_value(case: Case) -> None:
    """Evaluation and compiled code give Python's value where there is one; the text leads back."""
    ends = (case.window[0], case.window[-1])
    pool = Pool()
    node = case.build(*symbols(pool, [ends] * case.arity))
    names = NAMES[: case.arity]
    compiled = function([node], names)
    assert parse(pool, show(node)) is node
    for point in case.points():
        expected = case.value(point)
        if expected is not None:
            found = evaluate(node, dict(zip(names, point, strict=True)))
            assert (found, type(found)) == (expected, type(expected)), f"{node!r} at {point}"
            assert compiled(*point) == (expected,), f"{node!r} at {point}"


def assert_hint(case: Case) -> None:
    """The hint of the node is its value at the hints of the symbols."""
    for point in case.points():
        expected = case.value(point)
        if expected is None:
            continue
        node = case.build(*symbols(Pool(), [(-9, 9)] * case.arity, point))
        assert node.hint == expected, f"{node!r} at {point}"


def assert_bounds(case: Case) -> None:
    """The bounds of the node hold every value that it has within the ranges of its symbols."""
    values = {point: case.value(point) for point in case.points()}
    for ranges in small_ranges(case.arity):
        node = case.build(*symbols(Pool(), ranges))
        for point in product(*(range(lo, hi + 1) for lo, hi in ranges)):
            value = values.get(point)
            if value is not None:
                assert node.lo <= value <= node.hi, (
                    f"{node!r} is {value} at {point}, not in [{node.lo}, {node.hi}]"
                )


def small_ranges(arity: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Ranges within WINDOW: all of them for one operand, a selection for more."""
    ends = {1: (-4, -3, -2, -1, 0, 1, 2, 3, 4), 2: (-3, -1, 0, 1, 2), 3: (-2, 0, 1)}[arity]
    single = [(lo, hi) for lo in ends for hi in ends if lo <= hi]
    yield from product(single, repeat=arity)
