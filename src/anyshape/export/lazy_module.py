"""Lazy modules: the first call gives their parameters a shape, so it comes before the trace."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.torch_compat.module_attribute import is_uninitialized
from anyshape.trace import tree
from anyshape.trace.state.snapshot import Snapshot


def initialize_lazy_modules(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call a module that has lazy modules in it on a copy of the example.

    Nothing but the lazy modules is changed: other buffers and the generators of random numbers are
    restored.
    """
    if not isinstance(fn, torch.nn.Module) or not any(map(is_uninitialized, fn.modules())):
        return
    kept = Snapshot([b for b in fn.buffers() if not torch.nn.parameter.is_lazy(b)])
    flat, spec = tree.flatten((args, kwargs))
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in flat]
    copied, named = tree.unflatten_arguments(copies, spec)
    try:
        with torch.no_grad():
            fn(*copied, **named)
    finally:
        kept.restore()
