"""Where in the user's code something happened: taken cheaply, formatted only when asked for."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
import warnings
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyshape.config import config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, FrameType

_OWN: Final = str(Path(__file__).resolve().parents[1]) + os.sep
_PROGRAMS: Final = str(Path(_OWN, "cli", "examples")) + os.sep  # users of the rest
_RUNS_COMMANDS: Final = str(Path(_OWN, "cli", "command.py"))
_STANDARD: Final = str(Path(os.__file__).resolve().parent) + os.sep


def home_of(package: str) -> str:
    """The folder of an installed package, which is not imported; NUL, which no file name begins
    with, where there is none.
    """
    spec = importlib.util.find_spec(package)
    return "\0" if spec is None or spec.origin is None else os.path.dirname(spec.origin) + os.sep


_TORCH: Final = home_of("torch")


class Origin(NamedTuple):
    """The user's line that a line of generated code was made from."""

    file: str
    line: int
    function: str
    text: str


class Site(NamedTuple):
    """A place in a program: a code object and the instruction in it.

    A place in generated code whose file has `origins` is shown as the user's line that it was made
    from.
    """

    code: CodeType
    instruction: int

    @property
    def own_line(self) -> int:
        """The line number in the code itself; its first one where the instruction has none."""
        starts, lines = _lines_of(self.code)
        return lines[bisect_right(starts, self.instruction) - 1]

    @property
    def origin(self) -> Origin | None:
        """The user's line that a line of generated code was made from, if it is known."""
        known = origins.get(self.code.co_filename)
        return None if known is None else known.get(self.own_line)

    @property
    def line(self) -> int:
        """The line number that users know."""
        origin = self.origin
        return self.own_line if origin is None else origin.line

    @property
    def file(self) -> str:
        """The file name as Python knows it."""
        origin = self.origin
        return self.code.co_filename if origin is None else origin.file

    @property
    def function(self) -> str:
        """The name of the function."""
        origin = self.origin
        return self.code.co_name if origin is None else origin.function

    @property
    def text(self) -> str:
        """The source line, without the indent; empty where the source is not at hand."""
        origin = self.origin
        if origin is not None:
            return origin.text
        return linecache.getline(self.file, self.line).strip()

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        text = self.text
        place = f"{Path(self.file).name}:{self.line} in {self.function}"
        return f"{place}: {text}" if text else place


def _lines_of(code: CodeType) -> tuple[list[int], list[int]]:
    """The first instruction and the number of each line of a code; memoized for the last codes."""
    known = _lines.get(id(code))
    if known is None:
        if len(_lines) >= _MOST_CODES:
            _lines.clear()
        first = code.co_firstlineno
        starts, lines = [-1], [first]
        for start, _, line in code.co_lines():
            starts.append(start)
            lines.append(first if line is None else line)
        starts.append(len(code.co_code))
        lines.append(first)
        known = _lines[id(code)] = (code, starts, lines)
    return known[1:]


origins: Final[dict[str, Mapping[int, Origin]]] = {}  # by the name of a generated file and the line
_lines: Final[dict[int, tuple[CodeType, list[int], list[int]]]] = {}  # by the id of the code
_MOST_CODES: Final = 64
_COMMAND: Final = 2  # what runs a command of anyshape: nobody above it is the user
_framework: dict[str, int] = {}  # by file: 0 for the user's
_new: Final = tuple.__new__  # what a named tuple does in Python, done in C
_sites: Final[dict[tuple[int, int], Site]] = {}  # by the identity of the code, which a site keeps
_MOST: Final = 1 << 14  # so many places are remembered
_warned: Final[dict[str, dict[Any, Any]]] = {}  # by file: what Python needs to warn once


def is_own(filename: str) -> bool:
    """Whether a file belongs to anyshape itself."""
    return filename.startswith(_OWN) and not filename.startswith(_PROGRAMS)


def in_package(module: str | None, package: str) -> bool:
    """Whether a module, by its full name, is a package or lies within it; `torch_extras` does not
    lie within `torch`.
    """
    return module is not None and (module == package or module.startswith(f"{package}."))


def is_torch(filename: str) -> bool:
    """Whether a file belongs to torch."""
    return filename.startswith(_TORCH)


def is_standard(filename: str) -> bool:
    """Whether a file belongs to Python itself."""
    return filename.startswith("<frozen") or (
        filename.startswith(_STANDARD) and "site-packages" not in filename
    )


def is_framework(filename: str) -> bool:
    """Whether a file belongs to anyshape, torch or Python itself, rather than to the user."""
    return bool(_origin(filename))


def _origin(filename: str) -> int:
    known = _framework.get(filename)
    if known is None:
        of_others = is_own(filename) or is_torch(filename) or is_standard(filename)
        known = _framework[filename] = _COMMAND if filename == _RUNS_COMMANDS else int(of_others)
    return known


def capture() -> Site | None:
    """The innermost frame of the user, or None when sites are switched off."""
    return None if config.do_not_emit_stack_traces else user_site(2)


def user_site(skip: int) -> Site | None:
    """The innermost frame of the user; the nearest `skip` callers are known to be ours."""
    frame: FrameType | None = sys._getframe(skip)
    known = _framework
    while frame is not None:
        code = frame.f_code
        framework = known.get(code.co_filename)
        if framework is None:
            framework = _origin(code.co_filename)
        if not framework:
            place = (id(code), frame.f_lasti)
            return _sites.get(place) or _new_site(place, code)
        if framework is _COMMAND:
            return None
        frame = frame.f_back
    return None


def is_asked_by_user(skip: int) -> bool:
    """Whether the `skip`th caller is a function of the user."""
    return not is_framework(sys._getframe(skip + 1).f_code.co_filename)


def user_locals() -> dict[str, Any]:
    """The local variables of the innermost frame of the user."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_framework(frame.f_code.co_filename):
        frame = frame.f_back
    return {} if frame is None else frame.f_locals


def warn(warning: Warning) -> None:
    """Give a warning, at the line of the user that led to it."""
    site = user_site(2)
    file, line = ("<no line of the user>", 1) if site is None else (site.file, site.line)
    registry = _warned.setdefault(file, {})
    warnings.warn_explicit(warning, type(warning), file, line, registry=registry)


def _new_site(place: tuple[int, int], code: CodeType) -> Site:
    if len(_sites) >= _MOST:
        _sites.clear()
    site = _sites[place] = _new(Site, (code, place[1]))
    return site
