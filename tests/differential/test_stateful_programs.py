"""Random programs with outside state do what eager does, run eagerly, or are refused.

`stateful_known.json` lists the seeds that still differ, exactly, as in the hostile corpus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.differential.hostile.run import SILENT
from tests.differential.stateful_programs import (
    MODES,
    known,
    shown,
    shrink,
    try_seed,
)
from tests.differential.stateful_source import HEAD, Writer, smaller, write

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = 300
SHARE = 10  # programs of one test


@pytest.mark.parametrize("first", range(0, PROGRAMS, SHARE))
def test_random_programs(first: int, tmp_path: Path) -> None:
    listed = set(known())
    for seed in range(first, first + SHARE):
        found = try_seed(seed, tmp_path)
        if (found.outcome.kind in SILENT) != (seed in listed):
            shrunk = shrink(found, tmp_path) if found.outcome.kind in SILENT else found
            pytest.fail(f"{found.outcome.kind}: {shown(shrunk)}")


def test_known_seeds_are_run() -> None:
    assert set(known()) <= set(range(PROGRAMS))


class Forgets:
    """A compiler that keeps the first result for each size: blind to the outside."""

    eager_because = None

    def __init__(self, fn: Any, **options: Any) -> None:
        self.fn = fn
        self.kept: dict[Any, Any] = {}

    def __call__(self, x: Any) -> Any:
        if x.shape not in self.kept:
            self.kept[x.shape] = self.fn(x)
        return self.kept[x.shape]


class Nothing(Forgets):
    """No compiler at all."""

    def __call__(self, x: Any) -> Any:
        return self.fn(x)


def test_a_planted_bug_is_found_and_shrunk(tmp_path: Path) -> None:
    found = [try_seed(seed, tmp_path, stand_in=Forgets) for seed in range(5, 10)]
    assert all(f.outcome.kind in SILENT for f in found)
    before = len(write(found[0].draft))
    shrunk = shrink(found[0], tmp_path, Forgets)
    assert shrunk.outcome.kind in SILENT
    assert len(write(shrunk.draft)) < before
    assert len(shrunk.draft.calls) <= 2


def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    """Programs against themselves: they are repeatable, and two share nothing."""
    found = [try_seed(seed, tmp_path, stand_in=Nothing) for seed in range(40)]
    assert {f.outcome.kind for f in found} == {"same"}


def test_most_programs_run_to_their_end(tmp_path: Path) -> None:
    """Programs that only raise would compare nothing."""
    from tests.differential.hostile import run as runner

    raised = calls = 0
    for seed in range(40):
        try_seed(seed, tmp_path, stand_in=Nothing)
        told = runner.eagerly(str(tmp_path / "generated.py"), "generated", runner._STEPS)
        calls += len(told)
        raised += sum(t.error is not None for t in told)
    assert raised < calls / 4


def test_a_seed_is_a_program_for_ever() -> None:
    assert write(Writer(3).draft(4)) == write(Writer(3).draft(4))
    assert write(Writer(3).draft(4)) != write(Writer(4).draft(4))
    assert write(Writer(3).draft(4)).startswith(HEAD)
    assert all(write(d) != write(Writer(3).draft(4)) for d in smaller(Writer(3).draft(4)))


def test_every_mode_has_programs() -> None:
    assert set(MODES) == {"None", "True", "False", "unbacked", "fullgraph"}
