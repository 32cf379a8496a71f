"""N facts of one kind cost N times one fact: counted in calls, so that no clock decides."""

from __future__ import annotations

from typing import Any

import pytest

from anyshape.env.learning import learn as learning
from benchmarks.growth import GOAL, PATTERNS, Pattern, calls, run

FEW, MANY = 400, 800  # more than every budget, so that cutting scans short shows


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_growth_per_doubling(pattern: Pattern) -> None:
    few, many = calls(pattern, FEW), calls(pattern, MANY)
    assert many.told <= GOAL * few.told
    assert many.asked <= GOAL * few.asked


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_every_question_is_proved(pattern: Pattern) -> None:
    assert run(pattern, FEW).proved == FEW


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
