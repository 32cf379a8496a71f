"""The modes that ops run in besides the tracer's: gradients, autocast, the default dtype."""

from __future__ import annotations

from typing import Any, Final

import torch

_DEVICES: Final = ("cpu", "cuda")
_is_any_autocast: Final = torch._C._is_any_autocast_enabled


def autocast_state() -> tuple[Any, ...]:
    """The devices for which autocast is on, with their dtypes."""
    if not _is_any_autocast():
        return ()
    return tuple(
        (device, torch.get_autocast_dtype(device))
        for device in _DEVICES
        if torch.is_autocast_enabled(device)
    )


def set_autocast(state: tuple[Any, ...]) -> None:
    """Make autocast what `autocast_state` gave."""
    wanted = dict(state)
    for device in _DEVICES:
        torch.set_autocast_enabled(device, device in wanted)
        if device in wanted:
            torch.set_autocast_dtype(device, wanted[device])
    torch.clear_autocast_cache()


class keep_modes:  # noqa: N801  used as a statement of generated code
    """Restore what a program changes of these modes, also after an exception."""

    def __enter__(self) -> None:
        self.grad = torch.is_grad_enabled()
        self.autocast = autocast_state()
        self.dtype = torch.get_default_dtype()

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self.grad)
        if autocast_state() != self.autocast:
            set_autocast(self.autocast)
        if torch.get_default_dtype() is not self.dtype:
            torch.set_default_dtype(self.dtype)


MODE_CHANGES: Final = (torch._C._set_grad_enabled, set_autocast, torch.set_default_dtype)
