"""Regular files at predictable paths, where somebody else may have put something in their place.

Invariants: opening never waits, never truncates, and yields a regular file. A file is replaced as a
whole: readers see the old content or the new one, and a link at the path is replaced, not followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT_FLAG: Final = 0  # flags that a system does not have
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", _ABSENT_FLAG)
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", _ABSENT_FLAG)
_CLOSE_ON_EXEC: Final = getattr(os, "O_CLOEXEC", _ABSENT_FLAG)
_BINARY: Final = getattr(os, "O_BINARY", _ABSENT_FLAG)
_ALWAYS: Final = _NO_WAIT | _CLOSE_ON_EXEC | _BINARY


def make_folder(path: str | os.PathLike[str]) -> None:
    """A folder, with those above it. `NotADirectoryError` if something else is in its place."""
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError as e:
        code = errno.ENOTDIR
        raise NotADirectoryError(code, os.strerror(code), os.fspath(path)) from e


def open_to_read(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file to read, found through links. `OSError` for a pipe, a device or a folder."""
    return os.fdopen(_opened(path, os.O_RDONLY), "rb")


def open_to_lock(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file to lock, created if absent. `OSError` for anything else, links included."""
    if _NO_FOLLOW == _ABSENT_FLAG and os.path.islink(path):  # pragma: no cover  other systems
        raise _not_regular(path, stat.S_IFLNK)
    try:
        return os.fdopen(_opened(path, os.O_RDWR | os.O_CREAT | _NO_FOLLOW), "rb")
    except OSError as e:
        if os.path.islink(path):
            raise _not_regular(path, stat.S_IFLNK) from e
        raise


def replace_file(
    path: str | os.PathLike[str], write: Callable[[IO[bytes]], object], *, sync: bool = True
) -> None:
    """Replace a file or a link by what `write` writes, with the permissions of the old file.

    With `sync`, the content is on the disk before the old file is gone, also if the machine stops.
    """
    target = Path(path)
    mode = _mode_of(target)
    new = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS, 0o666)
    except OSError as e:
        if e.strerror is not None:
            e.filename = os.fspath(target.parent)  # it is the folder that does not take a file
        raise
    try:
        with os.fdopen(file, "wb") as stream:
            write(stream)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(new, mode)
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file or a link by a text, which may be lost if the machine stops."""
    replace_file(path, lambda stream: stream.write(text.encode()), sync=False)


def _mode_of(target: Path) -> int | None:
    """The permissions of a regular file; None where there is none. `OSError` for what is neither a
    file nor a link.
    """
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(mode):
        return stat.S_IMODE(mode)
    if stat.S_ISLNK(mode):
        return None
    raise _not_regular(target, stat.S_IFMT(mode))


def _opened(path: str | os.PathLike[str], flags: int) -> int:
    file = os.open(path, flags | _ALWAYS, 0o666)
    mode = os.fstat(file).st_mode
    if stat.S_ISREG(mode):
        return file
    os.close(file)
    raise _not_regular(path, stat.S_IFMT(mode))


_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def _not_regular(path: str | os.PathLike[str], kind: int) -> OSError:
    return OSError(f"{os.fspath(path)} is {_KINDS.get(kind, 'something else')}, not a regular file")
