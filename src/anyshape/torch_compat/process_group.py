"""The key-value store behind a process group of `torch.distributed`, and who is in the group.

Relied on: every group has a store, which all of its processes reach and which needs no collective
call, so that one process can write while the others compute. Without it, processes cannot tell each
other anything outside the collectives of the program.
"""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

_DISTRIBUTED: Final = "torch.distributed.distributed_c10d"


class Membership(NamedTuple):
    """A process in a group: its rank there, how many there are, and the group's store."""

    rank: int
    size: int
    store: Any


def default_group() -> Any:
    """The group of all processes; None before it is made and after it is destroyed."""
    module: Any = sys.modules.get(_DISTRIBUTED)
    return None if module is None else module.GroupMember.WORLD


def is_alive(group: Any) -> bool:
    """Whether a group was not destroyed, and this process is in it."""
    module: Any = sys.modules.get(_DISTRIBUTED)
    return module is not None and group in module._world.pg_map


def membership(group: Any) -> Membership:
    """This process in a group that is alive, with a connection to the store for itself alone:
    a thread may wait there while another one asks.
    """
    module: Any = sys.modules[_DISTRIBUTED]
    _backend, store = module._world.pg_map[group]
    return Membership(group.rank(), group.size(), store.clone())
