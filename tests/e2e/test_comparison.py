"""The tables that compare anyshape with other systems: our column, and what a wrong system gets."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.adapters.ours import Adapter
from benchmarks.comparison import OPEN, PROGRAMS, YES, Program, answer, by_anyshape, outcome
from benchmarks.patterns import MUST_STAY_OPEN, PATTERNS, Pattern


@pytest.mark.filterwarnings("ignore::anyshape.AnyshapeWarning")  # two names for sizes that fit
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.text)
def test_our_exports_are_right_at_all_sizes(program: Program) -> None:
    assert outcome(by_anyshape, program) == "right"


@pytest.mark.parametrize("pattern", [*PATTERNS, *MUST_STAY_OPEN], ids=lambda p: p.question)
def test_our_engine_decides_what_can_be_decided(pattern: Pattern) -> None:
    assert answer(Adapter, pattern)[0] == (OPEN if pattern in MUST_STAY_OPEN else YES)


def test_a_system_that_is_wrong_refuses_or_fails_is_told_apart() -> None:
    def planted(program: Program, example: Any) -> Any:
        def call(x: Any) -> Any:
            if len(x) == 0:
                raise ValueError
            return x if len(x) == 1 else program.function(x)

        return call

    def failing(program: Program, example: Any) -> Any:
        raise NotImplementedError

    program = PROGRAMS[0]
    assert outcome(planted, program) == "refused at 0; **wrong** at 1; right at 2, 5"
    assert outcome(failing, program) == "no program: NotImplementedError"
