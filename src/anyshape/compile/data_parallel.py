"""Modules whose gradients or parameters are exchanged between processes.

`DistributedDataParallel` tells an object of C++ when a forward pass begins and ends, on every call;
a module that `fully_shard` has changed gathers its parameters before its forward pass and frees
them after it, in hooks. None of that can be part of a program: it runs as the Python that it is,
and what is inside is compiled. Inside such a module the parameters are plain tensors, the same
objects in every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from torch.nn import Module
from torch.nn.parallel import DistributedDataParallel

from anyshape.trace.record.call.sharded import is_sharded

if TYPE_CHECKING:
    from collections.abc import Callable


class Served(NamedTuple):
    """A compiled function, and the callable that runs it: itself, or a module around it."""

    compiled: Any
    run: Any


def served(fn: Any, make: Callable[[Any], Any]) -> Served:
    """What `make` compiles of a function or module, and what to call in its place."""
    if isinstance(fn, DistributedDataParallel):
        inner = served(fn.module, make)
        return Served(inner.compiled, _standing_in(fn, "module", lambda: inner.run))
    if isinstance(fn, Module) and is_sharded(fn):
        forward = fn.forward
        compiled = make(forward)
        found = lambda: compiled if fn.forward == forward else fn.forward  # noqa: E731
        return Served(compiled, _standing_in(fn, "forward", found))
    compiled = make(fn)
    return Served(compiled, compiled)


def _standing_in(module: Any, name: str, found: Callable[[], Any]) -> Any:
    """The same module, with all of its state, for which one attribute is what `found` gives."""
    kind = type(module)
    members = {name: property(lambda _: found()), "__module__": kind.__module__}
    made: Any = object.__new__(type(kind.__name__, (kind,), members))
    made.__dict__ = module.__dict__
    return made
