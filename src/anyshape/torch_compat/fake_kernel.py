"""Fake kernels: shapes of results without data, by torch itself or by the author of a custom op."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._library.fake_impl import set_ctx_getter as set_context
from torch._library.simple_registry import singleton
from torch.utils._python_dispatch import TorchDispatchMode

from anyshape.torch_compat.aten_op import OpOverloadPacket, has_kernel, qualified_name, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "KernelContext",
    "MetaFactories",
    "enable_python_dispatcher",
    "fake_kernel_of",
    "returns_new_tensors",
    "returns_nothing",
    "set_context",
]

_UPDATES: Final = (
    torch._fused_adagrad_,
    torch._fused_adam_,
    torch._fused_adamw_,
    torch._fused_sgd_,
)

# Under `enable_python_dispatcher()` composite ops run their Python decompositions, which work on
# symbolic sizes; their C++ ones would ask for numbers. `set_context(make)` is what
# `torch.library.get_ctx()` gives inside a fake kernel: the way in which it makes a size that only
# the run knows.


def fake_kernel_of(func: Any) -> Any:
    """The fake kernel that was registered for a custom op with `torch.library.register_fake`; None
    where there is none.
    """
    name = qualified_name(func)
    entry = singleton.find(name) if name else None
    return None if entry is None else entry.fake_impl.kernel


def returns_new_tensors(func: Any) -> bool:
    """Whether the results of a custom op share no memory with its operands.

    They do not unless its schema says so. Its fake kernel, or its kernel for meta tensors, tells
    shapes alone: one that returns an operand means a new tensor of that shape.
    """
    name = qualified_name(func)
    if not name or name.startswith("aten::"):
        return False
    schema = schema_of(func)
    if any(r.alias_info is not None for r in schema.returns):
        return False
    full = f"{name}.{schema.overload_name}" if schema.overload_name else name
    return fake_kernel_of(func) is not None or has_kernel(full, "Meta")


def returns_nothing(func: Any) -> bool:
    """Whether a custom op gives no result, and has no kernel that checks shapes: any call is right.

    Torch's own fake tensors take such a call, too. So do fused updates of optimizers: torch has no
    kernel for meta tensors for some, and one that asks for the learning rate for others.
    """
    name = qualified_name(func)
    if any(func is update for update in _UPDATES):
        return True
    if (
        not name
        or name.startswith("aten::")
        or (type(func) is OpOverloadPacket and not _single(func))
    ):
        return False
    schema = schema_of(func)
    full = f"{name}.{schema.overload_name}" if schema.overload_name else name
    return not schema.returns and not has_kernel(full, "Meta")


def _single(func: Any) -> bool:
    return len(func.overloads()) == 1


class KernelContext:
    """What a fake kernel gets of `torch.library.get_ctx()` besides new sizes.

    A kernel that makes a size which no result has tells torch's environment of sizes so.
    """

    def __init__(self) -> None:
        self.drops = False  # whether the sizes that are made are those of no result

    @property
    def _shape_env(self) -> KernelContext:
        return self

    @contextmanager
    def ignore_fresh_unbacked_symbols(self) -> Iterator[None]:
        """A block in which sizes are made that no result has."""
        before, self.drops = self.drops, True
        try:
            yield
        finally:
            self.drops = before


_META: Final = torch.device("meta")


class MetaFactories(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tensors that a kernel makes have no data, whichever device it asks for.

    Sizes of tensors with data are plain integers; a kernel that runs for the shapes of its results
    may be given symbolic ones.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Replace the device of a factory."""
        kwargs = kwargs or {}
        if any(a.name == "device" for a in func._schema.arguments):
            kwargs = {**kwargs, "device": _META}
        return func(*args, **kwargs)
