"""`load`: a program from one file. The format is in docs/reference/file-format.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.errors import LoadError
from anyshape.export.files import archive, checked
from anyshape.export.files.decode import decode
from anyshape.export.files.stand_in import Classes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from anyshape.export.program import ExportedProgram


def load(path: str | os.PathLike[str], *, classes: Iterable[type] | None = None) -> ExportedProgram:
    """The program in a file. Runs no code from it and needs no class of yours.

    `classes` are those that its inputs and results may be of: containers, named tuples and enums.
    If None, it is all classes that are registered with `torch.utils._pytree`. Others have
    stand-ins.

    Raises LoadError for a file that is not a saved program, is damaged, was written by a newer
    version, or needs an op or a device that is not there.
    """
    known = Classes(classes)
    try:
        members = archive.read_file(path)
        return decode(checked.parse(members[archive.PROGRAM]), members[archive.WEIGHTS], known)
    except LoadError:
        raise
    except Exception as e:  # a contradiction among facts, and whatever else a file can bring about
        raise LoadError(
            f"{path} is not a program", why=f"{type(e).__name__}: {str(e)[:300]}"
        ) from e
