"""Folders of the repository that a wheel carries: the pages of the codes, and the examples."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
_CHECKOUT: Final = _HERE.parents[2]

# Where a wheel has them, then where a checkout has them.
PAGES: Final = (_HERE / "error_pages", _CHECKOUT / "docs/reference/errors")
EXAMPLES: Final = (_HERE / "examples", _CHECKOUT / "examples")


def find(folders: tuple[Path, ...], name: str) -> Path | None:
    """A file of the first folder that has it."""
    return next((f / name for f in folders if (f / name).is_file()), None)


def names(folders: tuple[Path, ...], ending: str) -> list[str]:
    """The names of the files with an ending, without it, of the first folder that is there."""
    folder = next((f for f in folders if f.is_dir()), None)
    return [] if folder is None else sorted(file.stem for file in folder.glob(f"*{ending}"))
