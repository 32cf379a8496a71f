"""The programs of PyTorch and transformers, which need no other library: as good as recorded.

`outcomes.json` has the outcome of each program in each mode. A program that was right stays right,
and no result is ever wrong.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from tests.zoo.case import Case, Program, programs
from tests.zoo.measure import Outcome, measure
from tests.zoo.report import OUTCOMES, PAGE, page

RECORD: dict[str, Any] = json.loads(OUTCOMES.read_text(encoding="utf-8"))
MODES = {
    "torch": ("export", "compile", "train", "autocast"),
    "transformers": ("export",),
}
HEAVY = ("LongformerModel",)  # half a minute and more; `make zoo` measures them
CASES = [
    (p, mode)
    for library, modes in MODES.items()
    for p in programs(library)
    for mode in modes
    if p.name not in HEAVY
]


@pytest.mark.parametrize(
    ("program", "mode"), CASES, ids=[f"{p.library}-{p.name}-{mode}" for p, mode in CASES]
)
def test_outcome_is_as_recorded_or_better(program: Program, mode: str) -> None:
    recorded = RECORD["libraries"][program.library][program.name][mode]
    outcome = measure(program, mode)
    if recorded is None:
        assert outcome is None
        return
    assert outcome is not None
    assert outcome.status != "wrong" or recorded["status"] == "wrong", outcome.detail
    assert outcome.status == "right" or recorded["status"] != "right", outcome.detail


def test_page_is_generated_from_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(RECORD)


def test_zoo_is_large_enough() -> None:
    assert len(RECORD["libraries"]) >= 25
    assert sum(map(len, RECORD["libraries"].values())) >= 120


class Counting(torch.nn.Module):
    """Gives another result in each process-wide call: no program of it can be right."""

    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        type(self).calls += 1
        return x + type(self).calls


def refuse(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 1:
        raise ValueError("not one")
    return x


@pytest.mark.parametrize("mode", ["compile", "no_grad", "autocast"])
def test_a_wrong_result_is_found(mode: str) -> None:
    planted = Program(
        "planted", "counting", lambda: Case(Counting(), [(torch.ones(n),) for n in (3, 4)])
    )
    outcome = measure(planted, mode)
    assert outcome is not None
    assert outcome.status == "wrong"


def test_what_eager_refuses_is_refused() -> None:
    planted = Program("planted", "refuse", lambda: Case(refuse, [(torch.ones(n),) for n in (3, 1)]))
    assert measure(planted, "compile") == Outcome("right", seconds=pytest.approx(0, abs=60))
