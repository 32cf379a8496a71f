"""Documents behind a URL, one for each writer.

There are no locks behind a URL, and most stores cannot tell a writer that another one was faster.
So nobody replaces what another process writes: each process has an object of its own, under a name
that no other has, in a folder whose name is the URL and `.d`. Readers take all of them, and the
object at the URL itself, which no process writes.
"""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from anyshape.compile.dynamism.locked_file import THREADS
from anyshape.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_names: Final[dict[int, str]] = {}  # a process that was forked is another writer


class RemoteFolder:
    """The documents behind a URL, by way of fsspec. Every method may raise `OSError`."""

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._fs: Any
            self._fs, self._shared = import_module("fsspec.core").url_to_fs(url)
        except (ImportError, ValueError) as e:
            raise ConfigError(
                f"config.profile_store cannot be {url!r} here",
                why=str(e),
                fix="install fsspec and what it needs for this kind of URL, or give a path",
            ) from e
        self._folder = self._shared + ".d"

    @property
    def _own(self) -> str:
        return f"{self._folder}/{writer()}.json"

    def others(self) -> list[tuple[str, bytes]]:
        """What other writers have written, with the names of the objects."""
        try:
            self._fs.invalidate_cache()
            try:
                listed = self._fs.ls(self._folder, detail=False)
            except FileNotFoundError:
                listed = []
            ends = {name.rpartition("/")[2]: name for name in listed}
            ends.pop(self._own.rpartition("/")[2], None)
            wanted = [self._shared, *[ends[end] for end in sorted(ends) if end]]
            found = self._fs.cat(wanted, on_error="return")
        except Exception as e:  # each kind of URL has errors of its own
            raise OSError(str(e)) from e
        read: list[tuple[str, bytes]] = []
        for name, data in found.items():
            if isinstance(data, bytes):
                read.append((str(self._fs.unstrip_protocol(name)), data))
            elif not isinstance(data, FileNotFoundError):
                raise OSError(str(data)) from data
        return read

    def read(self) -> bytes | None:
        """What this process has written; None if it is nothing."""
        try:
            data: bytes = self._fs.cat_file(self._own)
        except FileNotFoundError:
            return None
        except Exception as e:
            raise OSError(str(e)) from e
        return data

    def write(self, data: bytes) -> None:
        """Replace what this process has written."""
        try:
            self._fs.pipe_file(self._own, data)
        except Exception as e:
            raise OSError(str(e)) from e

    def put_aside(self) -> None:
        """Remove what this process has written."""
        try:
            self._fs.rm_file(self._own)
        except Exception as e:
            raise OSError(str(e)) from e

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude the other threads of this process."""
        with THREADS:
            yield

    def __str__(self) -> str:
        return self.url


def writer() -> str:
    """A name that this process has and no other."""
    me = os.getpid()
    if me not in _names:
        _names[me] = secrets.token_hex(8)
    return _names[me]
