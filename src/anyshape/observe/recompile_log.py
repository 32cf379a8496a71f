"""`ANYSHAPE_LOGS=recompiles`: why functions are compiled again, on stderr, from all threads."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Final

from anyshape.events import Recompilation, subscribe

if TYPE_CHECKING:
    from anyshape.events import Subscription

_open: Final[list[Subscription]] = []  # at most one
_opening: Final = threading.Lock()


def is_wanted() -> bool:
    """Whether the environment asks for the log."""
    return "recompiles" in os.environ.get("ANYSHAPE_LOGS", "")


def start() -> None:
    """Start the log, if the environment asks for it and it is not running."""
    if _open or not is_wanted():
        return
    with _opening:
        if not _open:
            _open.append(subscribe(_write, Recompilation, everywhere=True))


def stop() -> None:
    """Stop the log."""
    with _opening:
        while _open:
            _open.pop().close()


def _write(event: Recompilation) -> None:
    if is_wanted() and sys.stderr is not None:
        sys.stderr.write(f"anyshape: {event}\n")
