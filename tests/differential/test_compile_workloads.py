"""Programs with sizes from data, compiled: equal to eager at every size, in few entries."""

from __future__ import annotations

import random
from typing import Any

import pytest

import anyshape
from anyshape import config
from anyshape.compile import compiled as compiled_file
from tests.differential.compile_pair import unequal
from tests.differential.workload_programs import PROGRAMS, Workload

CALLS = 14
SIZES = (0, 1, 2, 3, 5, 8, 11)


def sequence(seed: int) -> list[int]:
    """Sizes in a random order, 0 and 1 among them."""
    chance = random.Random(seed)
    sizes = [0, 1, *(chance.choice(SIZES) for _ in range(CALLS - 2))]
    chance.shuffle(sizes)
    return sizes


def calls_of(workload: Workload, seed: int) -> list[tuple[Any, ...]]:
    return [workload.inputs(i, n) for i, n in enumerate(sequence(seed))]


def agrees(workload: Workload, calls: list[tuple[Any, ...]], **options: Any) -> Any:
    """Compare each call with eager execution; the compiled program."""
    program = anyshape.compile(workload, recompile_limit=64, **options)
    for i, args in enumerate(calls):
        wrong = unequal(program(*args), workload(*args))
        assert not wrong, f"call {i}: {wrong}"
    assert program.eager_because is None
    return program


def marked(workload: Workload, calls: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The calls with every size that varies marked unbacked, and those alone."""
    for args in calls:
        for x, dims in zip(args, workload.dynamic, strict=True):
            anyshape.mark_unbacked(x, list(dims)) if dims else None
    return calls


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [None, True, "unbacked"])
def test_a_program_is_right_in_every_mode(name: str, dynamic: Any) -> None:
    workload = PROGRAMS[name]
    program = agrees(workload, calls_of(workload, 1), dynamic=dynamic)
    assert program.stats.traces == len(program.entries)
    if dynamic == "unbacked":  # where a weight of size 1 is one of any size too
        assert len(program.entries) <= (2 if name == "serving" else 1)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", [2, 3])
def test_unbacked_sizes_need_one_entry(name: str, seed: int) -> None:
    workload = PROGRAMS[name]
    program = agrees(workload, marked(workload, calls_of(workload, seed)))
    assert len(program.entries) == 1
    assert not program.recompilations


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("setting", ["specialize_zero_one", "backed_size_oblivious"])
def test_without_special_sizes_two_entries_are_enough(
    name: str, dynamic: Any, setting: str
) -> None:
    """A program that compares a size with 0 has one for each side, besides the static one."""
    workload = PROGRAMS[name]
    most = 3 if workload.branches and dynamic is None else 2
    with config.patch(**{setting: setting == "backed_size_oblivious"}):
        program = agrees(workload, calls_of(workload, 4), dynamic=dynamic)
    assert len(program.entries) <= most, program.explain()


def test_every_size_is_specialized_where_nothing_is_dynamic() -> None:
    workload = PROGRAMS["unique embedding"]
    calls = calls_of(workload, 1)
    program = agrees(workload, calls, dynamic=False)
    assert len(program.entries) == len({args[0].shape for args in calls})


def test_the_sizes_of_another_call_are_found_to_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: a program that serves calls that are not its own."""

    def any_entry(self: Any, args: Any, kwargs: Any) -> Any:
        entry = self.entries[0]
        return entry.run([*args])

    workload = PROGRAMS["windows"]
    with monkeypatch.context() as m:
        m.setattr(compiled_file.Compiled, "_miss", _first_then(any_entry))
        with pytest.raises((AssertionError, RuntimeError)):
            agrees(workload, calls_of(workload, 1), dynamic=False)
    agrees(workload, calls_of(workload, 1), dynamic=False)


def _first_then(later: Any) -> Any:
    """`_miss` as it is for the first call, and another one afterwards."""
    right = compiled_file.Compiled._miss

    def miss(self: Any, args: Any, kwargs: Any, *more: Any) -> Any:
        return later(self, args, kwargs) if self.entries else right(self, args, kwargs, *more)

    return miss
