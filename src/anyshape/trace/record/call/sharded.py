"""Modules that `fully_shard` has changed: their hooks gather the parameters in every call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from anyshape.trace.record.recorder import Recorder

_SHARDING: Final = "torch.distributed.fsdp"


def is_sharded(module: Any) -> bool:
    """Whether `fully_shard` has changed a module itself; who did has imported it."""
    sharding: Any = sys.modules.get(_SHARDING)
    return sharding is not None and isinstance(module, sharding.FSDPModule)


def need_whole(recorder: Recorder, module: Any) -> None:
    """Raise for a module that is sharded: `compile` breaks at its call, and compiles its inside."""
    if is_sharded(module):
        raise recorder.unsupported(
            f"{type(module).__name__} is called, which gathers its parameters in every call,",
            why="fully_shard has changed it",
            fix="compile without fullgraph, or export the module before it is sharded",
        )
