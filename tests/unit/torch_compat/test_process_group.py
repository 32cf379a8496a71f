from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from torch import distributed

from anyshape.torch_compat.process_group import (
    default_group,
    is_alive,
    membership,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def group() -> Iterator[object]:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield distributed.group.WORLD
    distributed.destroy_process_group()


def test_a_group_while_it_lives(group):
    assert default_group() is group
    assert is_alive(group)


def test_before_and_after_there_is_none():
    assert default_group() is None
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    group = default_group()
    distributed.destroy_process_group()
    assert not is_alive(group)
    assert default_group() is None


def test_the_store_has_a_connection_of_its_own(group):
    here = membership(group)
    assert (here.rank, here.size) == (0, 1)
    here.store.set("a", "1")
    assert membership(group).store.get("a") == b"1"
    assert here.store.add("count", 1) == 1
    assert here.store.add("count", 0) == 1
