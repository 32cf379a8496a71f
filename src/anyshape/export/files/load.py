"""`load`: a program from one file. The format is in docs/reference/file-format.md."""

from __future__ import annotations

import io
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyshape.errors import LoadError, text_of
from anyshape.export.files import archive, checked
from anyshape.export.files.decode import decode, wanted_weights
from anyshape.export.files.stand_in import Classes
from anyshape.public_call import need_bool, need_path, public

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from anyshape.export.program import ExportedProgram


@public
def load(
    path: str | os.PathLike[str],
    *,
    classes: Iterable[type] | None = None,
    weights: bool = True,
) -> ExportedProgram:
    """Load the program in a file. No code of the file runs, and no class of yours is needed.

    `classes` are the containers, named tuples and enums that its inputs and results may have; None
    means all classes that are registered with `torch.utils._pytree`. Other classes have stand-ins.
    The memory of a load is bounded by the size of the file times a constant.
    Without `weights`, parameters and persistent buffers are not loaded: `load_state_dict` gives
    their values, and a call before that raises StateError.

    Raises LoadError for a file that is not a saved program, is damaged, was written by a newer
    version, or needs an op or a device that is not available.
    """
    need_path("load", path)
    need_bool("weights", weights)
    known = Classes(classes)
    with _only_load_errors(str(path)):
        return _decoded(*archive.skim_file(path, None if weights else _wanted), known)


def loads(data: bytes) -> ExportedProgram:
    """The program in the bytes of a file."""
    with _only_load_errors("the data"):
        return _decoded(archive.read(io.BytesIO(data), len(data)), {}, Classes(None))


def _wanted(program: bytes) -> set[str]:
    return wanted_weights(checked.parse(program))


def _decoded(members: dict[str, bytes], sizes: dict[str, int], known: Classes) -> ExportedProgram:
    program = members[archive.PROGRAM]
    return decode(checked.parse(program), len(program), members[archive.WEIGHTS], known, sizes)


@contextmanager
def _only_load_errors(what: str) -> Iterator[None]:
    """Let all errors of a file be LoadErrors that name it, such as contradictory facts in it."""
    try:
        yield
    except LoadError as e:
        named = e.what if what in e.what else f"{what}: {e.what}"
        raise LoadError(named, why=e.why, fix=e.fix, code=e.code) from e.__cause__
    except Exception as e:
        raise LoadError(f"{what} is damaged", why=f"{type(e).__name__}: {text_of(e)[:300]}") from e
