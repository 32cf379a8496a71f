"""`config.trace` and `ANYSHAPE_TRACE`: all events of a process as lines of JSON, in a folder.

Each process writes one file of its own; after a fork, the child begins another. A line is written
when its event happens, so that a process that dies leaves all lines but perhaps the last. The
format is in `trace_schema.py`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

from anyshape.config import config
from anyshape.env.site import capture, warn
from anyshape.errors import AnyshapeWarning, ConfigError
from anyshape.events import KINDS
from anyshape.observe.standing import Standing
from anyshape.observe.trace_schema import SCHEMA, VERSION, Writer, as_object, site_object
from anyshape.regular_file import make_folder
from anyshape.version import __version__

if TYPE_CHECKING:
    from io import TextIOWrapper

    from anyshape.observe.standing import Want

VARIABLE: Final = "ANYSHAPE_TRACE"


class TraceFile:
    """The file of this process in a folder. Lines of several threads do not mix."""

    def __init__(self, folder: str) -> None:
        now = datetime.now(UTC)
        self.path = Path(folder, f"anyshape-{now:%Y%m%d-%H%M%S-%f}-{os.getpid()}.jsonl")
        make_folder(folder)
        self._file: TextIOWrapper = self.path.open("x", encoding="utf-8", buffering=1)
        self._writing = threading.Lock()
        self._numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0
        self._writer = Writer(perf_counter_ns(), self._number_of)
        self._write(
            {
                "schema": SCHEMA,
                "version": VERSION,
                "anyshape": __version__,
                "python": sys.version.split()[0],
                "process": os.getpid(),
                "started": now.isoformat(),
            }
        )

    def _number_of(self, env: Any) -> int:
        number = self._numbers.get(env)
        if number is None:
            self._count += 1
            number = self._numbers[env] = self._count
        return number

    def write(self, event: Any, site: Any) -> None:
        """Write the line of an event that happened at a place."""
        with self._writing:
            self._write(
                {
                    "event": type(event).__name__,
                    "time": perf_counter_ns() - self._writer.start,
                    "thread": threading.get_ident(),
                    "site": site_object(site),
                    **as_object(event, self._writer),
                }
            )

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Files:
    """The files of this process, by folder."""

    by_folder: Final[dict[str, TraceFile]] = {}
    opening = threading.Lock()

    @classmethod
    def of(cls, folder: str) -> TraceFile:
        known = cls.by_folder.get(folder)
        if known is None:
            with cls.opening:
                known = cls.by_folder.get(folder)
                if known is None:
                    known = cls.by_folder[folder] = TraceFile(folder)
        return known

    @classmethod
    def forget(cls) -> None:
        """In a child process: the files are the parent's, and a lock may be held for ever."""
        cls.by_folder.clear()
        cls.opening = threading.Lock()


def _write(event: Any) -> None:
    folder = config.trace
    if not folder:
        return
    site = getattr(event, "site", None)
    if site is None:
        site = capture()
    _Files.of(os.path.abspath(folder)).write(event, site)


# ---------------------------------------------------------------------- who wants it

_standing: Final = Standing(_write)


def open_setting(value: Any) -> Want:
    """Write all events to a folder. Raises `ConfigError` if that is not possible."""
    if not value:
        return _standing.want(())
    try:
        _Files.of(os.path.abspath(value))
    except OSError as e:
        raise ConfigError(
            f"config.trace cannot be {value!r}",
            why=f"{e.strerror}: {e.filename}",
            fix="name a folder that can be written to",
        ) from e
    return _standing.want(KINDS)


def open_variable(value: str) -> Want:
    """Write all events to the folder of `ANYSHAPE_TRACE`. A wrong folder is a warning."""
    try:
        return open_setting(value)
    except ConfigError as e:
        ignored = AnyshapeWarning(f"{VARIABLE} is ignored: {e.why}", code="AS731")
        warn(ignored)
        return _standing.want(())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Files.forget)
