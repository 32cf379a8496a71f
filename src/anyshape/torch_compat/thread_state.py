"""State that torch keeps per thread or per process: grad mode, autocast, "is compiling".

The functions are torch's own objects, so that a call costs what it costs in torch.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import torch
from torch._C import _get_tracing_state as get_tracing_state
from torch._C import _is_any_autocast_enabled as is_any_autocast_enabled
from torch._C import _len_torch_dispatch_stack as dispatch_mode_depth
from torch._C import _set_grad_enabled as set_grad_enabled

__all__ = [
    "SET_GRAD_ENABLED",
    "dispatch_mode_depth",
    "get_tracing_state",
    "is_any_autocast_enabled",
    "pop_saved_tensors_hooks",
    "push_saved_tensors_hooks",
    "saved_tensors_hooks",
    "set_compiling",
    "set_grad_enabled",
]

# `set_grad_enabled(flag)` sets grad mode as a plain call; the public `torch.set_grad_enabled` is a
# context manager. It is a step of traced programs, and modes see it as a torch function. Without it
# `no_grad` blocks could be neither recorded nor replayed.
#
# `is_any_autocast_enabled()` is one check for all devices. Every op asks it; the public
# `torch.is_autocast_enabled(device)` would have to be called per device.
#
# `dispatch_mode_depth()` is how many modes get the ops of this thread. Without it, compiled code
# would run where a mode wants to see ops, and a compiler's own ops would be shown to the mode.
#
# `get_tracing_state()` is called by torch's own Python functions and reaches the tracer's mode,
# which must recognize it as no op.

saved_tensors_hooks: Final[Any] = partial(torch._C._autograd._top_saved_tensors_default_hooks, True)
"""The innermost pair of hooks that get the tensors that autograd saves, or None. A program enters
them by a context manager, which no mode sees."""

push_saved_tensors_hooks: Final = torch._C._autograd._push_saved_tensors_default_hooks
pop_saved_tensors_hooks: Final = torch._C._autograd._pop_saved_tensors_default_hooks
"""The two halves of `torch.autograd.graph.saved_tensors_hooks`. Steps of a program need one at a
time."""

SET_GRAD_ENABLED: Final = "torch._C._set_grad_enabled"
"""The name of `set_grad_enabled` in saved programs."""


def set_compiling(flag: bool) -> bool:
    """Set the answer of `torch.compiler.is_compiling()`; return the previous one.

    Model code asks it to take the branch that can be traced. Without it, a trace would follow the
    eager-only branch.
    """
    before: bool = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = flag
    return before


ENTER_AUTOCAST: Final[Any] = torch.amp.autocast_mode._enter_autocast
EXIT_AUTOCAST: Final[Any] = torch.amp.autocast_mode._exit_autocast
"""Autocast as two calls, which graphs of torch have. Under a function mode they hand themselves to
it, without end if it calls them."""
