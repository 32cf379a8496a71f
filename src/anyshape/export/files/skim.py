"""A safetensors file read without most of its data: only some entries are kept in memory.

All bytes pass through, so that the checksums of the file are verified as for a whole read.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.errors import LoadError
from anyshape.export.files import checked

if TYPE_CHECKING:
    from collections.abc import Collection

_CHUNK: Final = 1 << 20
_PREFIX: Final = 8  # bytes with the length of the header
_MAX_HEADER: Final = 1 << 27
_NAME: Final = "weights.safetensors"


class Skimmed(NamedTuple):
    """A file of the wanted entries, the number of bytes of each of the others, and checksums."""

    data: bytes
    sizes: dict[str, int]
    crc: int
    sha256: str


class _Reader:
    """Reads ahead and computes the checksums."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sha = hashlib.sha256()
        self.crc = 0
        self.position = 0

    def read(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) != count:
            raise LoadError(f"{_NAME} is damaged", why="the file is truncated")
        self._sha.update(data)
        self.crc = zlib.crc32(data, self.crc)
        self.position += count
        return data

    def skip_to(self, position: int) -> None:
        while self.position < position:
            self.read(min(_CHUNK, position - self.position))

    @property
    def sha256(self) -> str:
        return self._sha.hexdigest()


def skim(stream: IO[bytes], size: int, wanted: Collection[str]) -> Skimmed:
    """Read a safetensors file of `size` bytes; keep the wanted entries."""
    reader = _Reader(stream)
    length = int.from_bytes(reader.read(min(_PREFIX, size)), "little")
    if size < _PREFIX or length > min(size - _PREFIX, _MAX_HEADER):
        raise LoadError(f"{_NAME} is damaged", why=f"a header of {length} bytes")
    header = checked.parse(reader.read(length), _NAME)
    if type(header) is not dict:
        checked.refuse(f"the header of {_NAME}", "an object", header)
    start, kept, places = reader.position, {}, []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        lo, hi = _range(entry, size - start)
        places.append((lo, hi, name, entry))
    parts: list[bytes] = []
    offset = 0
    for lo, hi, name, entry in sorted(places, key=lambda place: place[:2]):
        if name not in wanted:
            continue
        if start + lo < reader.position:
            raise LoadError(f"{_NAME} is damaged", why="its entries overlap")
        reader.skip_to(start + lo)
        parts.append(reader.read(hi - lo))
        kept[name] = {**entry, "data_offsets": [offset, offset + hi - lo]}
        offset += hi - lo
    reader.skip_to(size)
    head = json.dumps(kept).encode()
    head += b" " * (-len(head) % _PREFIX)
    data = len(head).to_bytes(_PREFIX, "little") + head + b"".join(parts)
    sizes = {name: hi - lo for lo, hi, name, _ in places if name not in wanted}
    return Skimmed(data, sizes, reader.crc, reader.sha256)


def _range(entry: Any, size: int) -> tuple[int, int]:
    where = f"an entry of {_NAME}"
    _, offsets, _ = checked.fields(entry, ("dtype", "data_offsets", "shape"), where)
    lo, hi = checked.items(offsets, where, 2)
    checked.number(hi, where, checked.number(lo, where, 0, size), size)
    return lo, hi
