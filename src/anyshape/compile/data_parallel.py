"""`DistributedDataParallel` around a module: its own Python runs as it is, the module is compiled.

The wrapper tells an object of C++ when a forward pass begins and ends, on every call; none of that
can be part of a program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    import torch


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
