"""`save`: a program to one file. The format is in docs/reference/file-format.md."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from anyshape.errors import UnsupportedError
from anyshape.export.files import archive
from anyshape.export.files.encode import encode

if TYPE_CHECKING:
    import os

    from anyshape.export.program import ExportedProgram


def save(program: ExportedProgram, path: str | os.PathLike[str]) -> None:
    """Write a program to a file; an existing file is replaced when the new one is complete."""
    archive.write_file(path, _members(program))


def dumps(program: ExportedProgram) -> bytes:
    """The bytes of the file of a program."""
    stream = io.BytesIO()
    archive.write(stream, _members(program))
    return stream.getvalue()


def _members(program: ExportedProgram) -> dict[str, bytes]:
    content, weights = encode(program)
    data = archive.dumps(content)
    if len(data) > archive.MAX_PROGRAM:
        raise UnsupportedError(
            f"cannot save a program of {len(data)} bytes, without its weights",
            why=f"at most {archive.MAX_PROGRAM} are allowed",
            code="AS511",
        )
    members = {archive.PROGRAM: data, archive.WEIGHTS: weights}
    members[archive.CHECKSUMS] = archive.checksums(members)
    return members
