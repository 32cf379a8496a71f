"""The modules whose calls keep their signatures, by the paths that the user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anyshape.errors import ArgumentError, UnsupportedError, shortened
from anyshape.export.branches.branching import branches_of
from anyshape.export.state.root import root_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyshape.trace.capture import Captured

_OPTION = "preserve_module_call_signature"


def paths_of(given: Any) -> tuple[str, ...]:
    """The paths that an option names."""
    if isinstance(given, str) or not all(isinstance(path, str) for path in given):
        raise ArgumentError(
            f"{_OPTION} is a tuple of the paths of modules, not {given!r}", fix='write ("encoder",)'
        )
    return tuple(given)


def preserved_modules(fn: Any, paths: Sequence[str]) -> dict[int, str]:
    """The modules at some paths of what is exported: path by id."""
    if not paths:
        return {}
    root = root_of(fn)
    known = {} if root is None else dict(root.named_modules(remove_duplicate=False))
    unknown = [path for path in paths if not path or path not in known]
    if unknown:
        names = shortened(", ".join([path for path in known if path]) or "none")
        raise ArgumentError(
            f"{_OPTION} names {unknown[0]!r}, which is no module inside of the exported one",
            why=f"its modules: {names}",
        )
    return {id(known[path]): path for path in paths}


def need_one_graph(variants: Sequence[Captured], paths: Sequence[str]) -> None:
    """Raise if a program is to keep signatures and branches on data."""
    for variant in variants:
        if paths and len(variant.parts) > 1:
            listed = [str(branch.site or branch.question) for branch in branches_of(variant)]
            raise UnsupportedError(
                f"the signature of {paths[0]} cannot be kept: the program branches on data",
                why=f"a call of a module may go on after {'; '.join(dict.fromkeys(listed))}",
                fix=f"use torch.where(...), which does not branch, or leave {_OPTION} out",
            )
