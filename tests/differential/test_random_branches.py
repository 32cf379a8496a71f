"""Random programs with branches and loops on data: exported, and as in eager execution."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from anyshape.config import config
from anyshape.errors import AnyshapeError, DataDependentError
from anyshape.export import Dim, export, load
from anyshape.export.branches import branch_tracer, branching, waypoint, widening
from anyshape.trace.sequence import walker
from tests.differential.random_branches import Source, program_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SEEDS = 40
SIZES = (0, 1, 2, 5)


def outcome(f: Any, args: Any) -> Any:
    torch.manual_seed(0)
    given = copy.deepcopy(args)
    try:
        return [*f(*given), *given]
    except Exception as e:
        return (type(e).__name__, str(e))


def same(a: Any, b: Any) -> bool:
    if type(a) is tuple or type(b) is tuple:
        return bool(a == b)
    return len(a) == len(b) and all(
        x.dtype is y.dtype
        and x.shape == y.shape
        and torch.allclose(x, y, rtol=0, atol=0, equal_nan=True)
        if isinstance(y, torch.Tensor)
        else type(x) is type(y) and x == y
        for x, y in zip(a, b, strict=True)
    )


def calls() -> list[Any]:
    found = []
    for n in SIZES:
        for seed in range(3):
            torch.manual_seed(seed)
            found.append((torch.randn(n) * 2, torch.randn(n)))
    return found


def differences(seeds: range, folder: Path, *, saves: bool = False) -> tuple[int, list[str]]:
    """How many programs have several segments, and what differs."""
    several, wrong = 0, []
    dynamic = {"a": {0: Dim("n")}, "b": {0: Dim("n")}}
    for seed in seeds:
        fn = program_of(seed, folder)
        try:
            program: Any = export(fn, (torch.randn(4), torch.randn(4)), dynamic_shapes=dynamic)
        except DataDependentError as e:
            wrong += [] if "segments" in str(e) else [f"{seed}: {e}"]
            continue
        except (AnyshapeError, ValueError, KeyError, AssertionError) as e:
            if not all(type(outcome(fn, args)) is tuple for args in calls()):
                wrong.append(f"{seed}: {e}\n{Source(seed).text}")
            continue
        several += any(len(v.parts) > 1 for v in program.variants)
        if saves:
            program.save(folder / "a")
            program = load(folder / "a")
        for args in calls():
            want, got = outcome(fn, args), outcome(program, args)
            if not same(got, want):
                wrong.append(f"{seed}: {want} is {got}\n{Source(seed).text}")
    return several, wrong


def test_random_programs(tmp_path: Path) -> None:
    several, wrong = differences(range(SEEDS), tmp_path)
    assert not wrong, wrong[0]
    assert several > SEEDS // 2


def test_random_programs_saved_and_loaded(tmp_path: Path) -> None:
    several, wrong = differences(range(SEEDS, SEEDS + 20), tmp_path, saves=True)
    assert not wrong, wrong[0]
    assert several > 5


def test_a_wrong_side_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branching, "key_of", lambda answer: not answer)
    assert differences(range(5), tmp_path)[1]


def test_sides_that_meet_in_another_state_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = waypoint._match

    def blind(a: Any, b: Any, names: Any) -> bool:
        return (_is_note(a) and _is_note(b)) or right(a, b, names)

    monkeypatch.setattr(waypoint, "_match", blind)
    assert differences(range(40, 44), tmp_path)[1]


def _is_note(key: Any) -> bool:
    """Whether a part of a state is the variable `note` with its value."""
    return type(key) is tuple and len(key) == 2 and key[0] == "note"


def test_a_check_the_wrong_way_round_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_tracer, "negate", lambda condition: condition)
    assert differences(range(6), tmp_path)[1]


def counted(seeds: range, folder: Path) -> tuple[int, list[str]]:
    """How many loops have counters that are symbols, and what differs; saved and loaded."""
    loops, wrong = 0, []
    dynamic = {"a": {0: Dim("n")}, "b": {0: Dim("n")}}
    for seed in seeds:
        fn = program_of(seed, folder, counts=True)
        try:
            with config.patch(segment_limit=32):
                made = export(fn, (torch.randn(4), torch.randn(4)), dynamic_shapes=dynamic)
        except DataDependentError as e:
            wrong += [] if "segments" in str(e) else [f"{seed}: {e}"]
            continue
        loops += "same_number" in made.code or "one_more" in made.code
        program: Any = made
        if "one_more" not in made.code:
            made.save(folder / "a")
            program = load(folder / "a")
        for args in calls():
            want, got = outcome(fn, args), outcome(program, args)
            if not same(got, want):
                wrong.append(f"{seed}: {want} is {got}\n{Source(seed, counts=True).text}")
    return loops, wrong


def one_more(n: Any) -> Any:
    return n + 1


def test_random_loops_with_counters(tmp_path: Path) -> None:
    loops, wrong = counted(range(8), tmp_path)
    assert not wrong, wrong[0]
    assert loops > 4


def test_a_wrong_counter_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widening, "same_number", one_more)
    assert counted(range(3), tmp_path)[1]


def listed(seeds: range, folder: Path) -> tuple[int, list[str]]:
    """How many programs have lists of the graph, and what differs; saved and loaded."""
    lists, wrong = 0, []
    dynamic = {"a": {0: Dim("n")}, "b": {0: Dim("n")}}
    for seed in seeds:
        fn = program_of(seed, folder, lists=True)
        made = export(fn, (torch.randn(4), torch.randn(4)), dynamic_shapes=dynamic)
        lists += "list_item" in made.code
        made.save(folder / "a")
        program: Any = load(folder / "a")
        for args in calls():
            want, got = outcome(fn, args), outcome(program, args)
            if not same(got, want):
                wrong.append(f"{seed}: {want} is {got}\n{Source(seed, lists=True).text}")
    return lists, wrong


def test_random_lists(tmp_path: Path) -> None:
    lists, wrong = listed(range(4), tmp_path)
    assert not wrong, wrong[0]
    assert lists == 4


def test_an_item_that_is_left_out_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker.Backward, "going", lambda w: w.at >= 1)
    monkeypatch.setattr(walker.Forward, "going", lambda w: w.at < w.of.length - 1)
    assert listed(range(1), tmp_path)[1]
