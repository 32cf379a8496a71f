"""Training and collectives on several ranks: uneven sizes, an empty batch; equal to eager."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.distributed import training_programs as programs

if TYPE_CHECKING:
    from tests.distributed.pool import Pool

POLICIES = (None, "unbacked")


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("where", ["inside", "around"])
def test_parameters_are_those_of_eager(pair: Pool, where: str, dynamic: object) -> None:
    assert pair.run(programs.data_parallel, where, dynamic) == [""] * pair.size


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("name", ["reduced", "gathered", "experts", "counted"])
def test_collectives(pair: Pool, name: str, dynamic: object) -> None:
    assert pair.run(programs.collective, name, dynamic) == [""] * pair.size


def test_gradients_that_are_not_exchanged_are_noticed(pair: Pool) -> None:
    assert pair.run(programs.data_parallel, "planted", None) != [""] * pair.size


@pytest.mark.parametrize("dynamic", POLICIES)
@pytest.mark.parametrize("where", ["inside", "around", "blocks", "freed"])
def test_sharded_modules(pair: Pool, where: str, dynamic: object) -> None:
    for different, hits in pair.run(programs.sharded, where, dynamic):
        assert different == ""
        assert hits >= programs.STEPS


def test_parameters_that_are_not_gathered_are_noticed(pair: Pool) -> None:
    assert any(different for different, _ in pair.run(programs.sharded, "planted", None))


@pytest.mark.parametrize("where", ["inside", "around"])
@pytest.mark.parametrize("kind", ["sharded", "replicated"])
def test_mixed_precision(pair: Pool, kind: str, where: str) -> None:
    for apart, hits in pair.run(programs.mixed, kind, where, None):
        assert apart == 0
        assert hits >= programs.STEPS - 1


def test_mixed_precision_with_kernels_of_torch(pair: Pool) -> None:
    for apart, hits in pair.run(programs.mixed, "sharded", "around", "inductor"):
        assert apart < 0.02  # bfloat16 has eight bits, and fused kernels round less
        assert hits >= programs.STEPS - 1


@pytest.mark.parametrize("where", ["inside", "around"])
def test_gradients_that_are_accumulated(pair: Pool, where: str) -> None:
    assert pair.run(programs.accumulated, where, "unbacked") == [""] * pair.size


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_an_update_of_sharded_parameters(pair: Pool, name: str) -> None:
    for same, eager in pair.run(programs.sharded_update, name):
        assert same
        assert eager == []
