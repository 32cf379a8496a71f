"""Random programs at many sizes, 0 and 1 included: never wrong."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from tests.differential.agree import KINDS
from tests.differential.fuzz import check


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(6))
def test_random_programs(part: int, kind: str) -> None:
    counts: Any = collections.Counter()
    seeds = range(40 * part, 40 * (part + 1))
    wrong = {seed: found for seed in seeds if (found := check(seed, 6, kind, counts))}
    assert wrong == {}
    assert counts["right"] > 150
