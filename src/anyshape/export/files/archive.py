"""The container of a saved program: a zip of three members. Equal content gives equal bytes.

The members are in a fixed order, without compression, times or attributes, with 64-bit sizes. A
file that deviates from that anywhere is refused, so nothing in a hostile zip gets interpreted.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Callable, Collection
from typing import IO, TYPE_CHECKING, Any, Final

from anyshape.errors import LoadError, SaveError, reason_of
from anyshape.export.files.foreign import HEAD, foreign
from anyshape.export.files.skim import skim
from anyshape.regular_file import open_to_read, replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping

PROGRAM: Final = "program.json"
WEIGHTS: Final = "weights.safetensors"
CHECKSUMS: Final = "checksums.json"
MEMBERS: Final = (PROGRAM, WEIGHTS, CHECKSUMS)
MAX_PROGRAM: Final = 1 << 26
LIMITS: Final = {PROGRAM: MAX_PROGRAM, WEIGHTS: 1 << 50, CHECKSUMS: 1 << 10}

_CHANGED: Final = "its checksum is not the one that was saved: the file was changed"
_AGAIN: Final = "copy the file again, or save the program again"
_VERSION: Final = 45  # of the zip format: the first with 64-bit sizes
_DATE: Final = (1 << 5) | 1  # 1980-01-01
_WIDE: Final = 0xFFFFFFFF  # marks a size that is in the 64-bit field
_LOCAL: Final = struct.Struct("<4s5H3I2H")
_LOCAL_EXTRA: Final = struct.Struct("<2H2Q")
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_CENTRAL_EXTRA: Final = struct.Struct("<2H3Q")
_END64: Final = struct.Struct("<4sQ2H2I4Q")
_LOCATOR: Final = struct.Struct("<4sIQI")
_END: Final = struct.Struct("<4s4H2IH")


def dumps(content: Any) -> bytes:
    """JSON with sorted keys and no spaces."""
    text = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    return text.encode()


def checksums(members: Mapping[str, bytes]) -> bytes:
    """The member with the sha256 of the others."""
    return dumps({name: hashlib.sha256(members[name]).hexdigest() for name in (PROGRAM, WEIGHTS)})


# ---------------------------------------------------------------------- writing


def _local(name: bytes, crc: int, size: int) -> bytes:
    head = _LOCAL.pack(
        b"PK\3\4", _VERSION, 0, 0, 0, _DATE, crc, _WIDE, _WIDE, len(name), _LOCAL_EXTRA.size
    )
    return head + name + _LOCAL_EXTRA.pack(1, 16, size, size)


def _tail(entries: list[tuple[bytes, int, int, int]], start: int) -> bytes:
    """The central directory, of (name, crc, size, offset) each, and the end records."""
    parts = []
    for name, crc, size, offset in entries:
        parts.append(
            _CENTRAL.pack(
                b"PK\1\2", _VERSION, _VERSION, 0, 0, 0, _DATE, crc, _WIDE, _WIDE,
                len(name), _CENTRAL_EXTRA.size, 0, 0, 0, 0, _WIDE,
            )
            + name
            + _CENTRAL_EXTRA.pack(1, 24, size, size, offset)
        )  # fmt: skip
    directory = b"".join(parts)
    count, length = len(entries), len(directory)
    end64 = _END64.pack(
        b"PK\6\6", _END64.size - 12, _VERSION, _VERSION, 0, 0, count, count, length, start
    )
    locator = _LOCATOR.pack(b"PK\6\7", 0, start + length, 1)
    end = _END.pack(b"PK\5\6", 0, 0, count, count, length, _WIDE, 0)
    return directory + end64 + locator + end


def write(stream: IO[bytes], members: Mapping[str, bytes]) -> None:
    """Write the members, by name, in the order of the format."""
    entries = []
    offset = 0
    for member in MEMBERS:
        data, name = members[member], member.encode()
        crc = zlib.crc32(data)
        head = _local(name, crc, len(data))
        stream.write(head)
        stream.write(data)
        entries.append((name, crc, len(data), offset))
        offset += len(head) + len(data)
    stream.write(_tail(entries, offset))


def write_file(path: str | os.PathLike[str], members: Mapping[str, bytes]) -> None:
    """Replace a file by the members. At any moment it is the old file or the new one."""
    try:
        replace_file(path, lambda stream: write(stream, members))
    except OSError as e:
        fix = "make the folder first" if isinstance(e, FileNotFoundError) else _in_folder(path)
        raise SaveError(f"cannot save to {os.fspath(path)}", why=reason_of(e), fix=fix) from e


def _in_folder(path: str | os.PathLike[str]) -> str:
    """What to write where the path of a folder was given; "" for another path."""
    if not os.path.isdir(path):
        return ""
    return f"give the path of a file, such as {os.path.join(os.fspath(path), 'model.any')!r}"


# ---------------------------------------------------------------------- reading


Wanted = Callable[[bytes], Collection[str]]
"""The entries of the weights that are wanted of a program."""


def read_file(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """The members of a file, all checked; LoadError for any other file."""
    return skim_file(path, None)[0]


def skim_file(
    path: str | os.PathLike[str], wanted: Wanted | None
) -> tuple[dict[str, bytes], dict[str, int]]:
    """The members of a file, of the weights only the wanted entries, and the sizes of the others in
    bytes; None wants all.
    """
    try:
        with open_to_read(path) as stream:
            return _read(stream, os.fstat(stream.fileno()).st_size, wanted)
    except OSError as e:
        fix = "give the path that program.save(path) wrote"
        raise LoadError(f"cannot read {path}", why=reason_of(e), fix=fix, code="AS505") from e


def read(stream: IO[bytes], length: int) -> dict[str, bytes]:
    """The members of an archive of `length` bytes."""
    return _read(stream, length, None)[0]


def _read(
    stream: IO[bytes], length: int, wanted: Wanted | None
) -> tuple[dict[str, bytes], dict[str, int]]:
    members: dict[str, bytes] = {}
    sums: dict[str, str] = {}
    sizes: dict[str, int] = {}
    entries = []
    offset = 0
    _need_ours(stream)
    for member in MEMBERS:
        size, crc, start = _head(stream, member, offset, length)
        if member == WEIGHTS and wanted is not None:
            data, sizes, actual, sums[member] = skim(stream, size, wanted(members[PROGRAM]))
        else:
            data = stream.read(size)
            actual = zlib.crc32(data) if len(data) == size else -1
            sums[member] = hashlib.sha256(data).hexdigest()
        if actual != crc:
            raise LoadError(f"{member} is damaged", why=_CHANGED, fix=_AGAIN)
        members[member] = data
        entries.append((member.encode(), crc, size, offset))
        offset = start + size
    tail = _tail(entries, offset)
    if stream.read(len(tail) + 1) != tail:
        raise LoadError("the end of the file is damaged, or something follows it", fix=_AGAIN)
    if not agree(members[CHECKSUMS], sums):
        raise LoadError("the content is damaged", why=_CHANGED, fix=_AGAIN)
    return members, sizes


def agree(found: bytes, sums: Mapping[str, str]) -> bool:
    """Whether the member with the checksums has these."""
    return found == dumps({name: sums[name] for name in (PROGRAM, WEIGHTS)})


def _need_ours(stream: IO[bytes]) -> None:
    """Refuse a file of another kind, which is told by how it starts."""
    found = foreign(stream.read(HEAD), PROGRAM.encode())
    if found is not None:
        raise LoadError("this is not a saved program", why=found[0], fix=found[1], code="AS502")
    stream.seek(0)


def _head(stream: IO[bytes], member: str, offset: int, length: int) -> tuple[int, int, int]:
    """The size of the next member, its checksum, and where its content starts."""
    name = member.encode()
    head_size = _LOCAL.size + len(name) + _LOCAL_EXTRA.size
    head = stream.read(head_size)
    if len(head) < head_size:
        raise LoadError(f"the file ends before {member}", why="it is truncated")
    if head[:4] != b"PK\3\4":
        raise LoadError(f"no {member} at byte {offset}", why="the file is damaged")
    found = head[_LOCAL.size : _LOCAL.size + len(name)]
    if found != name:
        raise LoadError(f"the file has {found!r} in place of {member}")
    crc = _LOCAL.unpack_from(head)[6]
    size = _LOCAL_EXTRA.unpack_from(head, head_size - _LOCAL_EXTRA.size)[3]
    if head != _local(name, crc, size):
        raise LoadError(f"the header of {member} is damaged, or not written by anyshape")
    if size > LIMITS[member]:
        raise LoadError(f"{member} has {size} bytes", why=f"at most {LIMITS[member]} are allowed")
    if size > length - offset - head_size:
        raise LoadError(f"the file ends inside {member}", why="it is truncated", fix=_AGAIN)
    return size, crc, offset + head_size
