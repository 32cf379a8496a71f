"""What a program does to the autograd graph besides computing: calls that run at once.

Hooks must be there before the next op, so they do not wait for the end of a call. A call that has
to run again takes them back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyshape.trace.record.deferral import undone_by
from anyshape.trace.record.held import owner_of

if TYPE_CHECKING:
    import torch


def add_hook(t: torch.Tensor, method: str, hook: Any) -> Any:
    """Register a hook on a tensor; gives the handle."""
    handle = getattr(t, method)(owner_of(hook))
    undone_by(handle.remove)
    return handle


def remove_hook(handle: Any) -> None:
    """Remove a hook that the program has registered."""
    handle.remove()


def retain_grad(t: torch.Tensor) -> None:
    """Have a result keep its gradient."""
    t.retain_grad()


AUTOGRAD_EFFECTS: Final = frozenset((add_hook, remove_hook, retain_grad))
