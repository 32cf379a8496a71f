"""The anomaly mode of autograd around torch's compilers, which switch it on while they work.

It belongs to the process, and each of them puts back what it found: of two at once, the one that
ends last would leave it on. It is as before once all have ended.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock: Final = threading.Lock()  # held for a few instructions, none of them the user's
_running: Final[list[tuple[bool, bool]]] = []  # the mode and its check of NaN, before the first


@contextmanager
def anomaly_mode_kept() -> Iterator[None]:
    """Let a compiler work inside."""
    with _lock:
        mode = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
        _running.append(_running[0] if _running else mode)
    try:
        yield
    finally:
        with _lock:
            enabled, checks = _running.pop()
            if not _running:
                torch.autograd.set_detect_anomaly(enabled, checks)
