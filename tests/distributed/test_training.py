"""Training and collectives on two ranks: uneven sizes, an empty batch; equal to eager execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.distributed import training_programs as programs

if TYPE_CHECKING:
    from tests.distributed.pool import Pool

POLICIES = (None, "unbacked")


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("where", ["inside", "around"])
@pytest.mark.parametrize("wrap", ["data_parallel", "sharded"])
def test_parameters_are_those_of_eager(pair: Pool, wrap: str, where: str, dynamic: object) -> None:
    assert pair.run(getattr(programs, wrap), where, dynamic) == ["", ""]


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("name", ["reduced", "gathered", "experts"])
def test_collectives(pair: Pool, name: str, dynamic: object) -> None:
    found = pair.run(programs.collective, name, dynamic, False)
    assert [wrong for wrong, _ in found] == ["", ""]
