"""How things were before a call, to be restored when it has to be run again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable


class Snapshot:
    """The state of torch's generators, and copies of the tensors that a call may write to."""

    def __init__(self, tensors: Iterable[torch.Tensor] = (), *, draws: bool = True) -> None:
        self._cpu = torch.get_rng_state() if draws else None
        self._cuda = _cuda_states() if draws else []
        self._copies = [(t, t.detach().clone()) for t in tensors]

    def restore(self) -> None:
        """Put everything back."""
        if self._cpu is not None:
            torch.set_rng_state(self._cpu)
        if self._cuda:
            torch.cuda.set_rng_state_all(self._cuda)
        with torch.no_grad():
            for tensor, copy in self._copies:
                tensor.detach().copy_(copy)


def _cuda_states() -> list[torch.Tensor]:
    started: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return torch.cuda.get_rng_state_all() if started else []
