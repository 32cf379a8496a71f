"""Programs whose control flow depends on data, compiled with breaks, against eager execution.

Random programs, and planted bugs, which the comparison has to find in them.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from anyshape.compile.tree import trace_path
from anyshape.trace.path import segment, segment_tracer
from tests.differential.compile_pair import Pair
from tests.differential.compile_programs import inputs, load, program

CALLS = 10
PROGRAMS = 48


def check(seed: int, dynamic: Any) -> str:
    """What a random program does otherwise; empty for nothing."""
    text = program(seed, 8)
    pair = Pair(lambda: load(text), dynamic=dynamic, recompile_limit=64)
    for i in range(CALLS):
        wrong = pair.call(*inputs(100 * seed + i))
        if wrong:
            return f"call {i}: {wrong}\n{text}"
    why = pair.compiled.eager_because or getattr(pair.compiled.pieces, "why", "")
    return f"it cannot be traced: {why}\n{text}" if why and "answers" not in why else ""


@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
@pytest.mark.parametrize("part", range(4))
def test_random_programs(part: int, dynamic: Any) -> None:
    for seed in range(part, PROGRAMS, 4):
        wrong = check(seed, dynamic)
        assert not wrong, f"seed {seed}, {wrong}"


# ---------------------------------------------------------------------- planted bugs


def found(seeds: range) -> bool:
    """Whether the comparison finds something in random programs."""
    return any(check(seed, dynamic) for seed in seeds for dynamic in (None, "unbacked"))


def swapped_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(answer: Any) -> Any:
        return (not answer) if type(answer) is bool else answer

    monkeypatch.setattr(segment, "key_of", key)


def frame_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    right = segment.walk

    def walk(start: Any, frame: list[Any]) -> Any:
        return right(start, frame if len(frame) < 2 else [frame[1], frame[0], *frame[2:]])

    from anyshape.compile.cache import entry

    monkeypatch.setattr(entry, "walk", walk)


def loop_closed_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_tracer.Moment, "is_repeated", lambda self, path, state: True)


def nothing_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_path.PathTracer, "take_back", lambda self: None)


@pytest.mark.parametrize(
    "plant",
    [
        swapped_answers,
        frame_in_another_order,
        nothing_taken_back,
    ],
)
def test_a_planted_bug_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert found(range(PROGRAMS))


def counted(x: torch.Tensor) -> torch.Tensor:
    """A loop whose rounds differ by a counter."""
    n = 0
    while x.sum() < 40:
        n += 1
        x = x + n
    return x


@pytest.mark.parametrize("planted", [False, True])
def test_a_loop_that_closes_too_early_is_found(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if planted:
        loop_closed_too_early(monkeypatch)
    pair = Pair(lambda: counted, recompile_limit=64)
    wrong = [pair.call(torch.full((2,), x)) for x in (1.0, 0.0, -3.0, 15.0, -40.0)]
    is_found = any(wrong) or pair.compiled.pieces is not None
    assert is_found is planted, wrong
