"""Ops as torch dispatches them first: `torch.nn.functional.linear` is `aten.linear`."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DEVICE", "INPLACE_VIEW", "ITEM", "SIZE", "PreDispatch", "Recording", "no_dispatch"]

ITEM: Final[Any] = torch.ops.aten.item.default
SIZE: Final[Any] = torch.ops.aten.sym_size.int
DEVICE: Final[Any] = torch.ops.prim.device.default  # which torch asks of fake tensors by an op
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


class Dispatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that gives every op to `handle(op, args, kwargs)` after composite ops are taken apart,
    and after autograd and the transforms of `torch.func` have seen it.
    """

    def __init__(self, handle: Callable[..., Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handle = handle

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """See the class."""
        return self._handle(func, args, kwargs or {})


class Recording:
    """A block in which `handle` gets every op, without gradients; inside it, blocks in which it is
    another function that does.
    """

    def __init__(self, handle: Callable[..., Any]) -> None:
        self._handle = handle
        self._mode: PreDispatch | None = None

    def _give(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._handle(func, args, kwargs)

    @contextmanager
    def to(self, handle: Callable[..., Any]) -> Iterator[None]:
        """A block in which `handle` gets the ops."""
        before, self._handle = self._handle, handle
        try:
            with self._entered() if self._mode is None else nullcontext():
                yield
        finally:
            self._handle = before

    @contextmanager
    def _entered(self) -> Iterator[None]:
        self._mode = PreDispatch(self._give)
        try:
            with torch.no_grad(), enable_python_dispatcher(), self._mode:
                yield
        finally:
            self._mode = None

    @contextmanager
    def below(self) -> Iterator[None]:
        """A block inside in which the function gets the ops that transforms leave."""
        mode = self._mode
        assert mode is not None
        mode.__exit__(None, None, None)
        try:
            with Dispatch(self._give):
                yield
        finally:
            mode.__enter__()
