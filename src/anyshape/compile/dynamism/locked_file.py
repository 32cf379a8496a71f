"""One file of this machine that several processes read and replace.

It is replaced as a whole: readers see the old content or the new, never a part. `locked()` excludes
other writers while one reads, merges and writes. The lock is one on a second file beside it, which
stays there; the system releases it when a process ends. On systems without such locks only the
threads of one process exclude each other: a writer there must read again afterwards, and an update
that another process overwrites in between is lost.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyshape.regular_file import open_to_lock, open_to_read, replace_file

try:
    import fcntl
except ImportError:  # pragma: no cover  only on systems without such locks
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE: Final = 10.0  # seconds to wait for a lock
THREADS: Final = threading.Lock()  # of this process, one of which writes


class LockedFile:
    """A file as a store uses it: all writers replace it. Every method may raise `OSError`."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()

    def others(self) -> list[tuple[str, bytes]]:
        """What other writers keep elsewhere: nothing."""
        return []

    def read(self) -> bytes | None:
        """The content; None if there is none."""
        try:
            with open_to_read(self.path) as f:
                return f.read()
        except FileNotFoundError:
            return None

    def write(self, data: bytes) -> None:
        """Replace the content."""
        replace_file(self.path, lambda stream: stream.write(data))

    def put_aside(self) -> None:
        """Move the content away, under a name that ends in `.damaged`."""
        self.path.replace(self._beside(".damaged"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other writers, in this process and in others."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with THREADS, open_to_lock(self._beside(".lock")) as f:
            if fcntl is not None:
                _wait_for(f.fileno())
            yield

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def __str__(self) -> str:
        return str(self.path)


def _wait_for(file: int) -> None:
    """Lock a file as soon as nobody else has it locked."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)
        else:
            return
