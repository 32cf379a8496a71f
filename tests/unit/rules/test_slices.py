"""Slices against Python's own: every combination of small bounds, steps and sizes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from anyshape.env import Env
from anyshape.errors import DimError, ShapeError
from anyshape.expr import evaluate
from anyshape.rules.shared.slices import normalize_index, slice_of
from anyshape.symbolic.sym_int import SymInt
from anyshape.trace.tracer import symbol_name

BOUNDS = (None, *range(-4, 5))
STEPS = (1, 2, 3)
SIZES = range(5)


class Numbers:
    """Symbols by name, and the values of expressions in them."""

    def __init__(self) -> None:
        self.env = Env()
        self.names: dict[str, str] = {}

    def symbol(self, name: str, *, size: bool = False) -> SymInt:
        """A symbol that only the run knows."""
        e = self.env.unbacked(size=size)
        self.names[name] = symbol_name(e)
        return SymInt(e, self.env)

    def value(self, number: Any, /, **values: Any) -> Any:
        """The value of a number at values of the symbols."""
        if type(number) is not SymInt:
            return number
        return evaluate(
            number.expr, {self.names[k]: v for k, v in values.items() if k in self.names}
        )

    def asserts_hold(self, **values: Any) -> bool:
        """Whether what is assumed so far holds at these values."""
        bound = {self.names[k]: v for k, v in values.items() if k in self.names}
        return all(evaluate(o.condition, bound) for o in self.env.runtime_asserts)


def expected(start: Any, stop: Any, step: Any, n: int) -> tuple[int, int]:
    """The first place and the count by Python."""
    s = slice(start, stop, step)
    return s.indices(n)[0], len(range(n)[s])


@pytest.mark.parametrize("step", [None, *STEPS])
def test_known_bounds_of_a_size_that_only_the_run_knows(step: Any) -> None:
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        numbers = Numbers()
        n = numbers.symbol("n", size=True)
        first, count, _ = slice_of(slice(start, stop, step), n)
        for size in SIZES:
            found = numbers.value(first, n=size), numbers.value(count, n=size)
            assert found == expected(start, stop, step, size), (start, stop, step, size)
        assert not numbers.env.runtime_asserts


@pytest.mark.parametrize("step", [None, *STEPS])
def test_known_bounds_of_a_known_size(step: Any) -> None:
    for start, stop, size in itertools.product(BOUNDS, BOUNDS, SIZES):
        first, count, _ = slice_of(slice(start, stop, step), size)
        assert (first, count) == expected(start, stop, step, size)


@pytest.mark.parametrize("known", ["", "n", "start", "stop", "step", "n step", "start stop"])
def test_bounds_of_unknown_sign(known: str) -> None:
    ways = {
        "start": BOUNDS if "start" in known else ("?",),
        "stop": BOUNDS if "stop" in known else ("?",),
        "step": STEPS if "step" in known else ("?",),
        "n": SIZES if "n" in known.split() else ("?",),
    }
    for given in itertools.product(*ways.values()):
        numbers = Numbers()
        chosen = {
            name: numbers.symbol(name, size=name == "n") if value == "?" else value
            for name, value in zip(ways, given, strict=True)
        }
        first, count, _ = slice_of(
            slice(chosen["start"], chosen["stop"], chosen["step"]), chosen["n"]
        )
        runs = itertools.product(
            range(-4, 5) if given[0] == "?" else (given[0],),
            range(-4, 5) if given[1] == "?" else (given[1],),
            STEPS if given[2] == "?" else (given[2],),
            SIZES if given[3] == "?" else (given[3],),
        )
        for start, stop, step, size in runs:
            at = {"start": start, "stop": stop, "step": step, "n": size}
            assert numbers.asserts_hold(**at)
            found = numbers.value(first, **at), numbers.value(count, **at)
            assert found == expected(start, stop, step, size), at


def test_a_step_must_be_positive() -> None:
    for step in (0, -1):
        with pytest.raises(ShapeError, match="step"):
            slice_of(slice(None, None, step), 3)
    numbers = Numbers()
    slice_of(slice(None, None, numbers.symbol("step")), 3)
    assert numbers.asserts_hold(step=1)
    assert not numbers.asserts_hold(step=0)
    assert not numbers.asserts_hold(step=-1)


def test_a_place_counts_from_the_end_where_it_is_negative() -> None:
    for known_place, known_size in itertools.product((True, False), (True, False)):
        for i, n in itertools.product(range(-4, 5), SIZES):
            numbers = Numbers()
            place = i if known_place else numbers.symbol("i")
            size = n if known_size else numbers.symbol("n", size=True)
            inside = -n <= i < n
            if known_size and ((known_place and not inside) or n == 0):
                with pytest.raises(DimError, match="out of bounds"):
                    normalize_index(place, size, 0)
                continue
            found = normalize_index(place, size, 0)
            assert numbers.asserts_hold(i=i, n=n) == inside
            if inside:
                assert numbers.value(found, i=i, n=n) == range(n)[i]


def test_the_end_of_a_slice_by_any_name() -> None:
    numbers = Numbers()
    n = numbers.symbol("n", size=True)
    _, minus_one, _ = slice_of(slice(None, -1), n)
    _, before_last, _ = slice_of(slice(None, n - 1), n)
    _, from_one, _ = slice_of(slice(1, None), n)
    assert (minus_one == before_last).known()
    assert (minus_one == from_one).known()
