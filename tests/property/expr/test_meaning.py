"""Every constructor keeps the meaning: value, bounds, hint, text and code of random nodes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyshape.domain import NINF, Interval
from anyshape.errors import ParseError
from anyshape.expr import Bool, Expr, Real, atom, evaluate, parse, show
from anyshape.expr.constructor import division
from anyshape.expr.pool import Pool
from anyshape.expr.text.python import SCOPE, function, source
from anyshape.expr.text.show import BRIEF_TEXT
from tests.strategies import LAWS, SEARCH, Meant, World, operands, values_of, worlds

SHORT = 20_000


def is_same(found: object, expected: object) -> bool:
    """Equal and of one type; floats bit by bit."""
    if isinstance(found, float) and isinstance(expected, float):
        return found.hex() == expected.hex()
    return type(found) is type(expected) and found == expected


def drawn(data: st.DataObject, *, hints: bool | None = None) -> tuple[World, list[Meant]]:
    """A world, and a random node in it with everything that it is built from."""
    world = data.draw(worlds(hints=hints))
    return world, data.draw(operands(world)).parts()


def assert_value(data: st.DataObject) -> None:
    world, parts = drawn(data)
    for _ in range(3):
        assignment = data.draw(values_of(world))
        for meant in parts:
            value = meant.value(assignment)
            if value is not None:
                found = evaluate(meant.node, assignment)
                assert is_same(found, value), f"{meant.node}: {found}, not {value} at {assignment}"


def assert_bounds(data: st.DataObject) -> None:
    world, parts = drawn(data)
    for _ in range(3):
        assignment = data.draw(values_of(world))
        for meant in parts:
            assert is_within_bounds(meant.node, meant.value(assignment)), (
                f"{meant.node} is {meant.value(assignment)} at {assignment}"
            )


def is_within_bounds(node: object, value: Any) -> bool:
    if value is None or isinstance(node, Bool):
        return True
    if isinstance(node, Expr):
        return bool(node.lo <= value <= node.hi)
    assert isinstance(node, Real)
    return node.span.nan if math.isnan(value) else node.span.lo <= value <= node.span.hi


def assert_round_trip(data: st.DataObject) -> None:
    world, parts = drawn(data)
    for meant in parts:
        assert len(repr(meant.node)) <= BRIEF_TEXT + 3
        text = show(meant.node)
        if len(text) <= SHORT:
            assert parse(world.pool, text) is meant.node, text


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
    world, parts = drawn(data, hints=True)
    for meant in parts:
        value = meant.value(world.hints)
        if value is not None:
            assert is_same(meant.node.hint, value), f"{meant.node} at {world.hints}"


@LAWS
@given(st.data())
def test_code_computes_the_value(data: st.DataObject) -> None:
    world, parts = drawn(data)
    names = world.names
    compiled = function([meant.node for meant in parts], names)
    for _ in range(3):
        assignment = data.draw(values_of(world))
        expected = [meant.value(assignment) for meant in parts]
        for meant, value in zip(parts, expected, strict=True):
            if value is not None:
                text = source(meant.node, {n: n for n in names})
                assert is_same(eval(text, dict(SCOPE), assignment), value), text
        if None not in expected:
            found = compiled(*(assignment[n] for n in names))
            assert all(map(is_same, found, expected)), f"{parts[-1].node} at {assignment}"


# ---------------------------------------------------------------------- negative controls


def test_control_a_division_that_rounds_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = division.floordiv_const
    monkeypatch.setattr(division, "floordiv_const", lambda x, d: -right(-x, d))
    with pytest.raises(AssertionError):
        SEARCH(given(st.data())(assert_value))()


def test_control_bounds_from_one_end_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = atom.op_interval

    def one_end(*application: Any) -> Interval:
        lo, hi = right(*application)
        return Interval(lo, lo if lo > NINF else hi)

    monkeypatch.setattr(atom, "op_interval", one_end)
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
