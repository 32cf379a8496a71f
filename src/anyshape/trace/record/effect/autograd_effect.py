"""What a program does to the autograd graph besides computing: calls that run at once.

Hooks must be there before the next op, so they do not wait for the end of a call. A call that has
to run again takes them back.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import torch

from anyshape.errors import RuntimeAssertError
from anyshape.trace.record.effect.deferral import undone_by
from anyshape.trace.record.effect.held import owner_of


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


def gradients(
    outputs: Any, inputs: Any, given: Any, retain_graph: bool | None, materialize: bool
) -> tuple[torch.Tensor, ...]:
    """The gradients of outputs by inputs, as `torch.autograd.grad` computes them."""
    found: tuple[torch.Tensor, ...] = torch.autograd.grad(
        outputs, inputs, given, retain_graph=retain_graph, materialize_grads=materialize
    )
    return found


def run_backward(outputs: Any, given: Any, retain_graph: bool | None, outer: Any) -> None:
    """Compute the gradients of leaves; those of the caller's among them, `outer`, have none yet."""
    for t in outer:
        undone_by(functools.partial(setattr, t, "grad", t.grad))
    torch.autograd.backward(outputs, given, retain_graph=retain_graph)


def gradient_of(t: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The gradient that a backward pass of the program has given a leaf."""
    if t.grad is None:
        raise RuntimeAssertError(
            "a backward pass gave a tensor no gradient, which it had while tracing",
            fix="do not read the gradient inside the function",
            code="AS316",
        )
    return (t.grad,)


def set_gradient(t: torch.Tensor, value: torch.Tensor | None) -> None:
    """Assign the gradient of a result."""
    t.grad = value


HOOKING: Final = frozenset((add_hook, remove_hook, retain_grad))
AUTOGRAD_EFFECTS: Final = HOOKING | {run_backward, set_gradient}
