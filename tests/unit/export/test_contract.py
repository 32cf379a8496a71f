"""The contract of an exported program: a line per input and per size, at most a screen."""

from __future__ import annotations

from typing import Any

import torch

from anyshape import export
from anyshape.export.contract import SCREEN_COLUMNS, SCREEN_LINES


def staircase(*xs: torch.Tensor) -> Any:
    total = 0
    for x in xs:
        torch._check(x.size(0) % (xs[0].size(1) + 1) != 3)
        total = total + (x.sum() if x.size(0) > 9 else x.mean())
    return total


def test_a_long_contract_is_a_screen_and_the_rest_on_request() -> None:
    xs = tuple(torch.ones(24 + 6 * i, 5) for i in range(60))
    program = export(
        staircase, xs, dynamic_shapes={"xs": [{0: f"n{i}"} for i in range(60)]}, allow_partial=True
    )
    contract = program.contract()
    lines = str(contract).splitlines()
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= SCREEN_COLUMNS
    assert lines[:2] == ["inputs:", "  xs[0]: float32[n0, 5]"]
    assert sum("more, which contract().full() lists" in line for line in lines) >= 2
    full = contract.full().splitlines()
    assert sum(line.endswith(", 5]") for line in full) == 60
    assert sum("n59" in line for line in full) >= 2
    assert len(contract.full()) > 10 * len(str(contract)) or len(full) > 100


def test_a_short_contract_is_whole() -> None:
    program = export(lambda x: x * 2, (torch.ones(3),), dynamic_shapes=({0: "n"},))
    contract = program.contract()
    assert str(contract) == contract.full() == "inputs:\n  x: float32[n]\nsizes:\n  n >= 0"
