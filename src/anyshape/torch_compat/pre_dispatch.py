"""Ops as torch dispatches them first: `torch.nn.functional.linear` is `aten.linear`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["INPLACE_VIEW", "ITEM", "SIZE", "PreDispatch", "no_dispatch", "pre_dispatched"]

ITEM: Final[Any] = torch.ops.aten.item.default
SIZE: Final[Any] = torch.ops.aten.sym_size.int
INPLACE_VIEW: Final[Any] = torch.Tag.inplace_view

# `no_dispatch()` is a block in which a call goes to its kernel, past all modes: meta tensors that
# are made for their sizes alone are no part of the program.
no_dispatch: Final[Any] = torch._C._DisableTorchDispatch


class PreDispatch(ProxyTorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that gives every op to `handle(op, args, kwargs)` before composite ops are taken apart
    and before autograd and autocast see it.

    The stack of modes at that place takes no class but subclasses of torch's own.
    """

    def __init__(self, handle: Callable[..., Any]) -> None:
        super().__init__(None, "fake", pre_dispatch=True)  # type: ignore[arg-type]  # no tracer
        self._handle = handle

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """See the class."""
        return self._handle(func, args, kwargs or {})

    def __sym_dispatch__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Arithmetic of symbolic numbers is computed."""
        return func(*args, **kwargs)


def pre_dispatched(handle: Callable[..., Any]) -> ExitStack:
    """A block in which `handle` gets every op, without gradients."""
    stack = ExitStack()
    stack.enter_context(torch.no_grad())
    stack.enter_context(enable_python_dispatcher())
    stack.enter_context(PreDispatch(handle))
    return stack
