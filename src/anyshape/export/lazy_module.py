"""Lazy modules: the first call gives their parameters a shape, so it comes before the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from anyshape.torch_compat.module_attribute import is_uninitialized
from anyshape.trace import tree
from anyshape.trace.state.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable


def initialize_lazy_modules(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call a module that has lazy modules in it on a copy of the example.

    Other buffers are restored. The generators of random numbers go on behind the parameters that
    were drawn: what else the call drew, the first call of the program draws.
    """
    if not isinstance(fn, torch.nn.Module) or not any(map(is_uninitialized, fn.modules())):
        return
    kept = Snapshot([b for b in fn.buffers() if not torch.nn.parameter.is_lazy(b)])
    flat, spec = tree.flatten((args, kwargs))
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in flat]
    copied, named = tree.unflatten_arguments(copies, spec)
    draws = _Draws(filter(is_uninitialized, fn.modules()))
    try:
        with torch.no_grad():
            fn(*copied, **named)
    finally:
        kept.restore()
        draws.end()


class _Draws:
    """The generators as the initialization of lazy modules leaves them, one after the other."""

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        self._after, self._outer = Snapshot(), Snapshot()
        self._hooks = []
        for m in modules:
            self._hooks.append(m.register_forward_pre_hook(self._begin, prepend=True))
            self._hooks.append(m.register_forward_pre_hook(self._finish))

    def _begin(self, *_: Any) -> None:
        self._outer = Snapshot()
        self._after.restore()

    def _finish(self, *_: Any) -> None:
        self._after = Snapshot()
        self._outer.restore()

    def end(self) -> None:
        """Leave the generators behind the initialization."""
        for hook in self._hooks:
            hook.remove()
        self._after.restore()
