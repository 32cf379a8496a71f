"""Modules whose gradients or parameters are exchanged between processes.

`DistributedDataParallel` tells an object of C++ when a forward pass begins and ends, on every call;
none of that can be part of a program. Its own Python runs as it is, and the module inside is
compiled. `fully_shard` changes modules so that they gather their parameters in every call; such
modules run eagerly.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from torch.nn.parallel import DistributedDataParallel

from anyshape.torch_compat.module_attribute import MODULES

if TYPE_CHECKING:
    import torch

_SHARDING: Final = "torch.distributed.fsdp"
SHARDED: Final = "fully_shard has changed it, so that it gathers its parameters in every call"


def is_data_parallel(module: torch.nn.Module) -> bool:
    """Whether a module is such a wrapper."""
    return isinstance(module, DistributedDataParallel)


def with_module(wrapper: Any, compiled: torch.nn.Module) -> Any:
    """The same wrapper, with all of its state, that runs `compiled` in place of its module."""
    kind = type(wrapper)
    members = {"module": property(lambda _: compiled), "__module__": kind.__module__}
    made: Any = object.__new__(type(kind.__name__, (kind,), members))
    made.__dict__ = wrapper.__dict__
    return made


def is_sharded(module: torch.nn.Module) -> bool:
    """Whether `fully_shard` has changed a module or a part of it; who did has imported it."""
    sharding: Any = sys.modules.get(_SHARDING)
    if sharding is None:
        return False
    parts, seen = [module], {id(module)}  # by identity: a module need not have a hash
    for part in parts:
        children = [child for child in vars(part)[MODULES].values() if child is not None]
        parts += [child for child in children if id(child) not in seen]
        seen.update(map(id, children))
    return any(isinstance(part, sharding.FSDPModule) for part in parts)
