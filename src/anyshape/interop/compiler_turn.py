"""One compiler of torch works at a time.

They replace `Module.__call__` and switch the anomaly mode of autograd on while they work, for the
whole process, and each puts back what it found. Of two at once, the one that ends last would leave
what the other had put there. `torch.compile` has a lock for the same reason. No code of the
program runs in here, unless a collection of garbage calls a finalizer; a backend that is a function
of the user's is called without a turn.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from anyshape.env.site import in_package

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from anyshape.interop.backend import Backend

_turn: Final = threading.RLock()


def turn_of(backend: Backend) -> AbstractContextManager[object]:
    """The context in which to call the compiler."""
    return _turn if is_of_torch(backend) else nullcontext()


def is_of_torch(backend: Backend) -> bool:
    """Whether the compiler is one of torch's."""
    return in_package(getattr(backend.compiler, "__module__", "torch"), "torch")
