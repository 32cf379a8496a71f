"""Every constructor keeps the meaning: value, bounds, hint, text and code of random nodes."""

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from anyshape.domain import Interval
from anyshape.errors import ParseError
from anyshape.expr import Expr, Real, division, evaluate, parse, show
from anyshape.expr.node import Pool
from anyshape.expr.python import function, source
from anyshape.expr.show import BRIEF_TEXT
from tests.strategies import Meant, World, operands, values_of, worlds

LAWS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# A planted error must be found anew each time, and need not be shrunk.
SEARCH = settings(
    max_examples=1000,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
SHORT = 20_000


def is_same(found: object, expected: object) -> bool:
    """Equal and of one type; floats bit by bit."""
    if isinstance(found, float) and isinstance(expected, float):
        return found.hex() == expected.hex()
    return type(found) is type(expected) and found == expected


def values(data: st.DataObject, world: World, meant: Meant) -> list[tuple[dict[str, Any], Any]]:
    """Some assignments within the declared ranges for which the node has a value."""
    drawn = [data.draw(values_of(world)) for _ in range(3)]
    return [(v, value) for v in drawn if (value := meant.value(v)) is not None]


def assert_value(data: st.DataObject) -> None:
    world = data.draw(worlds())
    meant = data.draw(operands(world))
    for assignment, value in values(data, world, meant):
        found = evaluate(meant.node, assignment)
        assert is_same(found, value), f"{meant.node} is {found}, not {value} at {assignment}"


def assert_bounds(data: st.DataObject) -> None:
    world = data.draw(worlds())
    meant = data.draw(operands(world))
    node = meant.node
    for assignment, value in values(data, world, meant):
        if isinstance(node, Expr):
            assert node.lo <= value <= node.hi, f"{node} is {value} at {assignment}"
        elif isinstance(node, Real) and math.isnan(value):
            assert node.span.nan, f"{node} at {assignment}"
        elif isinstance(node, Real):
            assert node.span.lo <= value <= node.span.hi, f"{node} is {value} at {assignment}"


def assert_round_trip(data: st.DataObject) -> None:
    world = data.draw(worlds())
    node = data.draw(operands(world, depth=4)).node
    assert len(repr(node)) <= BRIEF_TEXT + 3
    text = show(node)
    if len(text) <= SHORT:
        assert parse(world.pool, text) is node, text


@LAWS
@given(st.data())
def test_evaluation_gives_the_value(data: st.DataObject) -> None:
    assert_value(data)


@LAWS
@given(st.data())
def test_bounds_hold_every_value(data: st.DataObject) -> None:
    assert_bounds(data)


@LAWS
@given(st.data())
def test_the_text_leads_back_to_the_node(data: st.DataObject) -> None:
    assert_round_trip(data)


@LAWS
@given(st.data())
def test_the_hint_is_the_value_at_the_hints(data: st.DataObject) -> None:
    world = data.draw(worlds(hints=True))
    meant = data.draw(operands(world))
    value = meant.value(world.hints)
    if value is not None:
        assert is_same(meant.node.hint, value), f"{meant.node} at {world.hints}"


@LAWS
@given(st.data())
def test_code_computes_the_value(data: st.DataObject) -> None:
    world = data.draw(worlds())
    meant = data.draw(operands(world))
    names = world.names
    compiled = function([meant.node], names)
    text = source(meant.node, {n: n for n in names})
    for assignment, value in values(data, world, meant):
        assert is_same(compiled(*(assignment[n] for n in names))[0], value)
        assert is_same(eval(text, {"math": math}, assignment), value), text


# ---------------------------------------------------------------------- negative controls


def test_control_a_division_that_rounds_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = division.floordiv_const
    monkeypatch.setattr(division, "floordiv_const", lambda x, d: -right(-x, d))
    with pytest.raises(AssertionError):
        SEARCH(given(st.data())(assert_value))()


def test_control_a_narrow_remainder_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Interval.mod

    def narrow(x: Interval, y: Interval) -> Interval:
        lo, hi = right(x, y)
        return Interval(lo, max(lo, hi - 1))

    monkeypatch.setattr(Interval, "mod", narrow)
    with pytest.raises(AssertionError):
        SEARCH(given(st.data())(assert_bounds))()


def test_control_a_second_object_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants that are not interned."""
    const = Pool.const

    def forgetful(pool: Pool, value: int) -> Expr:
        if value == 2:
            pool.nodes.pop(const(pool, value).key)
        return const(pool, value)

    monkeypatch.setattr(Pool, "const", forgetful)
    with pytest.raises((AssertionError, ParseError)):
        SEARCH(given(st.data())(assert_round_trip))()
