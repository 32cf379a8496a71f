"""N facts of one kind cost N times one fact: counted in calls, so that no clock decides."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from anyshape.env import Env
from anyshape.env.learning import learn as learning
from benchmarks.growth import GOAL, PATTERNS, Pattern

if TYPE_CHECKING:
    from types import FrameType

FEW, MANY = 400, 800  # more than every budget, so that cutting scans short shows


def calls(pattern: Pattern, n: int) -> int:
    """How many calls it takes to tell n facts and to ask n questions; every question is proved."""
    env = Env()
    pairs = pattern.make(env, n)
    count = 0

    def profile(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        for fact, _ in pairs:
            env.assume(fact)
        answers = [env.prove(question).answer for _, question in pairs]
    finally:
        sys.setprofile(before)
    assert all(answers)
    return count


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_growth_per_doubling(pattern: Pattern) -> None:
    assert calls(pattern, MANY) <= GOAL * calls(pattern, FEW)


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
