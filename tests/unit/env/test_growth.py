"""N facts of one kind cost N times one fact: counted in calls, so that no clock decides."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env import Env
from anyshape.env.knowledge.knowledge import Knowledge
from anyshape.env.learning import learn as learning
from benchmarks.growth import GOAL, PATTERNS, Pattern, calls, run, tell

if TYPE_CHECKING:
    from types import FrameType

FEW, MANY = 400, 800  # more than every budget, so that cutting scans short shows
REFUSED = [pattern for pattern in PATTERNS if pattern.are_refused]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_growth_per_doubling(pattern: Pattern) -> None:
    few, many = calls(pattern, FEW), calls(pattern, MANY)
    assert many.told <= GOAL * few.told
    assert many.asked <= GOAL * few.asked


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_every_question_is_proved(pattern: Pattern) -> None:
    assert run(pattern, FEW).proved == FEW


def lines(pattern: Pattern, n: int) -> int:
    """How many lines, and turns of loops, it takes to tell all facts."""
    env = Env()
    pairs = pattern.make(env, n)
    count = 0

    def trace(_frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for fact, _question in pairs:
            tell(env, pattern, fact)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", REFUSED, ids=lambda pattern: pattern.name)
def test_to_take_a_fact_back_walks_nothing_else(pattern: Pattern) -> None:
    assert lines(pattern, 200) <= GOAL * lines(pattern, 100)


def test_a_walk_over_all_nodes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    roll_back = Knowledge.roll_back

    def walk(k: Knowledge) -> None:
        for node in k.pool.nodes.values():
            node.version = min(node.version, k.pool.ranges)
        roll_back(k)

    monkeypatch.setattr(Knowledge, "roll_back", walk)
    for pattern in REFUSED:
        with pytest.raises(AssertionError):
            test_to_take_a_fact_back_walks_nothing_else(pattern)


def test_a_scan_of_all_facts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    remember = learning._remember
    told: dict[Any, list[Any]] = {}

    def scan(k: Any, fact: Any) -> None:
        facts = told.setdefault(k, [])
        facts.append(fact)
        for earlier in facts:
            hash(earlier.condition)
        remember(k, fact)

    monkeypatch.setattr(learning, "_remember", scan)
    with pytest.raises(AssertionError):
        test_growth_per_doubling(PATTERNS[0])
