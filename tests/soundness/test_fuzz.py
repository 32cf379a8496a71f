"""The enumeration fuzzer on a few seeds, and the proof that it would see an unsound engine.

Longer runs: `make fuzz`, and `python -m tests.soundness.fuzz --help`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from anyshape.domain import INF, Congruence, Interval
from anyshape.env import env as environment
from anyshape.env.knowledge.knowledge import Knowledge
from anyshape.env.ladder import elimination
from anyshape.env.learning import learn as learning
from tests.soundness import fuzz, wide
from tests.soundness.fuzz import Tally

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyshape.expr import Expr


@pytest.mark.parametrize(
    ("seeds", "options", "share"),
    [
        (120, {"width": 6}, 0.97),
        (80, {"width": 6, "facts": False}, 0.97),
        (100, {"width": 2}, 0.97),
        (30, {"width": 20}, 0.9),
        (100, {"width": 6, "wild": True}, 0.97),
        (60, {"width": 2, "wild": True}, 0.97),
        (40, {"width": 6, "endless": True}, 0.0),  # a sample cannot tell what is decidable
        (30, {"width": 6, "endless": True, "wild": True}, 0.0),
    ],
    ids=str,
)
def test_no_answer_is_wrong(seeds: int, options: dict[str, Any], share: float) -> None:
    tally = Tally()
    for seed in range(seeds):
        fuzz.run(seed, tally, **options)
    assert tally.unsound == []
    assert tally.asked > 60 * seeds
    assert tally.share >= share


def test_no_answer_about_long_sums_is_wrong() -> None:
    stories = [wide.run(seed) for seed in range(12)]
    assert [line for story in stories for line in story.unsound] == []
    assert sum(story.decided for story in stories) > 300


# ---------------------------------------------------------------------- negative controls


def _product_without_signs(patch: pytest.MonkeyPatch) -> None:
    def wrong(a: Interval, b: Interval) -> Interval:
        is_finite = INF not in map(abs, (*a, *b))
        ends = (a.lo * b.lo, a.hi * b.hi) if is_finite else (a.lo, a.hi)
        return Interval(min(ends), max(ends))

    patch.setattr(Interval, "mul", wrong)


def _no_remainders(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(elimination, "remainder", lambda _k, _x, _d: 0)


def _division_passes_congruences(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Congruence, "floordiv", lambda self, _divisor: self)


def _refused_facts_stay(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Knowledge, "roll_back", Knowledge.commit)


def _a_guard_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    right = environment.minimal
    patch.setattr(environment, "minimal", lambda facts, ranges: right(facts, ranges)[1:])


PLANTED: list[Callable[[pytest.MonkeyPatch], None]] = [
    _product_without_signs,
    _no_remainders,
    _division_passes_congruences,
    _refused_facts_stay,
    _a_guard_is_forgotten,
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_an_unsound_engine_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    tally = Tally()
    for seed in range(120):
        fuzz.run(seed, tally, width=3, wild=seed % 2 == 1)
        if tally.unsound:
            return
    pytest.fail("nothing was found")


def test_an_unsound_engine_is_found_by_long_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    right = learning.direction_of

    def wrong(e: Expr) -> tuple[int, int]:
        key, factor = right(e)
        return key, abs(factor)

    monkeypatch.setattr(learning, "direction_of", wrong)
    assert any(wide.run(seed).unsound for seed in range(20))


@pytest.mark.parametrize("main", [fuzz.main, wide.main])
def test_a_command_reports_what_it_saw(
    main: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["2", "0"]) == 0
    assert "unsound 0" in capsys.readouterr().out


def test_the_command_fails_on_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_remainders(monkeypatch)
    assert fuzz.main(["200", "0", "3"]) == 1
    assert "seed 0 3: " in capsys.readouterr().out
