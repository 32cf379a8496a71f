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
    """Load the program in a file. No code of the file runs, and no class of yours is needed.

    `classes` are the containers, named tuples and enums that its inputs and results may have; None
    means all classes that are registered with `torch.utils._pytree`. Other classes have stand-ins.
    The memory of a load is bounded by the size of the file times a constant.

    Raises LoadError for a file that is not a saved program, is damaged, was written by a newer
    version, or needs an op or a device that is not available.
    """
    known = Classes(classes)
    try:
        members = archive.read_file(path)
        program = members[archive.PROGRAM]
        return decode(checked.parse(program), len(program), members[archive.WEIGHTS], known)
    except LoadError:
        raise
    except Exception as e:  # such as contradictory facts in a hostile file
        raise LoadError(
            f"{path} is not a program", why=f"{type(e).__name__}: {str(e)[:300]}"
        ) from e
