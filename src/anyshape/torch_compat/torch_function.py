"""The `__torch_function__` protocol: switch it off, ask for active modes, opt a class out."""

from __future__ import annotations

import functools
from typing import Any, Final

import torch
from torch._C import DisableTorchFunction
from torch.utils._device import DeviceContext

__all__ = [
    "DISPATCHING_WRAPPERS",
    "SAME_SIGNATURE_MODULES",
    "DisableTorchFunction",
    "disabled_torch_function",
    "function_mode_depth",
    "has_function_mode",
    "is_plain",
]

function_mode_depth: Final = torch._C._len_torch_function_stack
"""The number of active function modes. Our numbers hide their `__torch_function__` below a mode,
because torch's parser takes a number in a list of sizes only if it has none."""

disabled_torch_function: Final[Any] = torch._C._disabled_torch_function_impl
"""The `__torch_function__` of a class that does not override torch functions. torch compares by
identity: only this object counts as "no override"."""


def has_function_mode() -> bool:
    """Whether a mode is active that may change what torch functions do. The mode that stands for
    the default device only fills in an argument.
    """
    if not function_mode_depth():
        return False
    modes = [torch._C._get_function_stack_at(i) for i in range(function_mode_depth())]
    return any(type(mode) is not DeviceContext for mode in modes)


_PLAIN_DISPATCH: Final[Any] = torch.Tensor.__torch_dispatch__


@functools.cache
def is_plain(kind: Any) -> bool:
    """Whether ops on tensors of a class are torch's own and return plain tensors, as for
    `nn.Parameter`: the class overrides neither functions nor kernels.
    """
    plain = kind is torch.Tensor or kind.__torch_function__ is disabled_torch_function
    return plain and kind.__torch_dispatch__ is _PLAIN_DISPATCH


DISPATCHING_WRAPPERS: Final = frozenset(("torch._jit_internal",))
"""Modules whose wrappers choose between two implementations (`boolean_dispatch`). Their body is the
wrapper itself; unwrapping them would lose the choice."""

SAME_SIGNATURE_MODULES: Final = frozenset(("torch", "torch.functional", "torch._tensor"))
"""Modules whose Python functions have the signatures of the ops that they are named after, so that
the rule of the op applies to them."""

# `DisableTorchFunction` is a context manager in which torch functions on tensors run as usual,
# without reaching modes or `__torch_function__`. Rules and the runtime need real results while a
# trace is active; the public `torch._C.DisableTorchFunctionSubclass` leaves modes on.
