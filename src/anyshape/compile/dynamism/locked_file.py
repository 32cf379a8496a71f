"""One document that several processes read and replace: a file, or what is behind a URL.

It is replaced as a whole: readers see the old content or the new, never a part. `locked()` excludes
other writers while one reads, merges and writes. The lock of a file is a lock on a second file
beside it, which stays there; the system releases the lock when a process ends. Behind a URL, and on
systems without such locks, only the threads of one process exclude each other: a writer there must
read again afterwards, and an update that another process overwrites in between is lost.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from anyshape.errors import ConfigError
from anyshape.regular_file import open_to_lock, open_to_read, replace_file

try:
    import fcntl
except ImportError:  # pragma: no cover  only on systems without such locks
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_PATIENCE: Final = 10.0  # seconds to wait for a lock
_threads: Final = threading.Lock()


class LockedFile(Protocol):
    """A file as a store uses it. Every method may raise `OSError`."""

    def read(self) -> bytes | None:
        """The content; None if there is none."""

    def write(self, data: bytes) -> None:
        """Replace the content."""

    def put_aside(self) -> None:
        """Move the content away, under a name that ends in `.damaged`."""

    def locked(self) -> AbstractContextManager[None]:
        """Exclude other writers for the body of a `with` block."""


class LocalFile:
    """A file of this machine."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()

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
        """Move the content away."""
        self.path.replace(self._beside(".damaged"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other writers, in this process and in others."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _threads, open_to_lock(self._beside(".lock")) as f:
            if fcntl is not None:
                _wait_for(f.fileno())
            yield

    def _beside(self, ending: str) -> Path:
        return self.path.with_name(self.path.name + ending)

    def __str__(self) -> str:
        return str(self.path)


class RemoteFile:
    """What is behind a URL, by way of fsspec."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs: Any
            self._fs, self._path = import_module("fsspec.core").url_to_fs(url)
        except (ImportError, ValueError) as e:
            raise ConfigError(
                f"config.profile_store cannot be {url!r} here",
                why=str(e),
                fix="install fsspec and what it needs for this kind of URL, or give a path",
            ) from e

    def read(self) -> bytes | None:
        """The content; None if there is none."""
        try:
            data: bytes = self._fs.cat_file(self._path)
        except FileNotFoundError:
            return None
        except Exception as e:  # each kind of URL has errors of its own
            raise OSError(str(e)) from e
        return data

    def write(self, data: bytes) -> None:
        """Replace the content."""
        try:
            self._fs.pipe_file(self._path, data)
        except Exception as e:
            raise OSError(str(e)) from e

    def put_aside(self) -> None:
        """Move the content away."""
        try:
            self._fs.mv(self._path, self._path + ".damaged")
        except Exception as e:
            raise OSError(str(e)) from e

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude the other threads of this process."""
        with _threads:
            yield

    def __str__(self) -> str:
        return self.url


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
