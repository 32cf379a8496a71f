"""Which sources turned out dynamic, kept in a document for later processes.

One JSON document serves any number of functions:

    {"format": "anyshape-dynamic-sources", "version": 1,
     "functions": {"my.module:Model.forward": [["x", 0], ["k", null]]}}

A function is known by its module and qualified name, which stay the same when lines move; a lambda
also by its line, and one of a script by the name of the script. Functions with one key share their
entries, and an entry that no input has means nothing: both cost time, never correctness.

Writers lose nothing of what others write. The processes of one machine merge with what is in a
file, under a lock (`locked_file.py`); behind a URL each process has a document of its own, and
readers merge them (`remote_folder.py`). A document that is damaged, or something else altogether,
is ignored with a warning; a file is put aside when there is something to write. One of a later
version is left alone.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyshape.compile.dynamism.history import History, Place
from anyshape.compile.dynamism.locked_file import LockedFile
from anyshape.compile.dynamism.remote_folder import RemoteFolder
from anyshape.config import config
from anyshape.env.site import warn
from anyshape.errors import AnyshapeWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FORMAT: Final = "anyshape-dynamic-sources"
VERSION: Final = 1
_LOCAL: Final = "file://"
_TRIES: Final = 16


def key_of(fn: Any) -> str:
    """The key of a function, method or module, the same in every process."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    module = str(named.__module__)
    if module == "__main__":
        script = getattr(sys.modules[module], "__file__", None) or ""
        module = f"__main__({Path(script).name})"
    name = named.__qualname__
    if "<lambda>" in name:
        name += f":{fn.__code__.co_firstlineno}"
    return f"{module}:{name}"


class Store:
    """The document at a path, or behind a URL that fsspec knows."""

    def __init__(self, path: str) -> None:
        local = path.removeprefix(_LOCAL)
        self._document = RemoteFolder(path) if "://" in local else LockedFile(local)

    def load(self, key: str) -> set[Place]:
        """The sources of a function that turned out dynamic, with their dimensions."""
        found = self._of_others(key)
        try:
            found |= self._own().get(key, set())
        except (OSError, ValueError) as e:
            _warn(f"{self._document} is ignored: {e}")
        return found

    def add(self, key: str, places: Iterable[tuple[str, int | None]]) -> None:
        """Keep more of them. What cannot be written is a warning."""
        new = {Place(*place) for place in places}
        try:
            if new:
                with self._document.locked():
                    self._merge(key, new - self._of_others(key))
        except (OSError, _LaterVersion) as e:
            _warn(f"{self._document} cannot be written: {e}")

    def _merge(self, key: str, new: set[Place]) -> None:
        for _ in range(_TRIES):
            try:
                known = self._own()
            except _LaterVersion:
                raise
            except ValueError as e:
                _warn(f"{self._document} is put aside: {e}")
                self._document.put_aside()
                known = {}
            if new <= known.get(key, set()):
                return
            known[key] = known.get(key, set()) | new
            self._document.write(_encoded(known))
        raise OSError("others write to it all the time")

    def _own(self) -> dict[str, set[Place]]:
        """What is in the document that this process writes."""
        data = self._document.read()
        return {} if data is None else _decoded(data)

    def _of_others(self, key: str) -> set[Place]:
        """What is in the documents of others; one that cannot be read is left alone."""
        found: set[Place] = set()
        try:
            documents = self._document.others()
        except OSError as e:
            _warn(f"{self._document} is ignored: {e}")
            return found
        for name, data in documents:
            try:
                found |= _decoded(data).get(key, set())
            except ValueError as e:
                _warn(f"{name} is ignored: {e}")
        return found


class StoredHistory(History):
    """What has been seen of a function's inputs, in this process and, if the settings name a store
    when a call is noted, in others.
    """

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self._key = key_of(fn)
        self._path: str | None = None

    def note(self, names: Sequence[str], flat: Sequence[Any]) -> set[Place]:
        """Look at the inputs of a call; the places that are dynamic by this call and were not."""
        path = config.profile_store
        if path is not None and path != self._path:
            self.learn(Store(path).load(self._key))
            self._path = path
        changed = super().note(names, flat)
        if path is not None and changed:
            Store(path).add(self._key, changed)
        return changed


class _LaterVersion(ValueError):
    """A document that is for a later version of the program to read."""


def _warn(text: str) -> None:
    told = AnyshapeWarning(f"the store of dynamic sources {text}", code="AS722")
    warn(told)


# ---------------------------------------------------------------------- the format


def _encoded(known: dict[str, set[Place]]) -> bytes:
    functions = {
        key: sorted(known[key], key=lambda p: (p.source, -1 if p.dim is None else p.dim))
        for key in sorted(known)
    }
    content = {"format": FORMAT, "version": VERSION, "functions": functions}
    return (json.dumps(content, indent=1) + "\n").encode()


def _decoded(data: bytes) -> dict[str, set[Place]]:
    """The content of a document; `ValueError` for an invalid one."""
    try:
        content = json.loads(data)
    except RecursionError as e:
        raise ValueError("it is nested too deeply") from e
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"it is not a document of the format {FORMAT}")
    version = content.get("version")
    if type(version) is int and version > VERSION:
        raise _LaterVersion(f"it has version {version}; this is for versions up to {VERSION}")
    functions = content.get("functions")
    if version != VERSION or not isinstance(functions, dict):
        raise ValueError("it is damaged")
    return {key: {_place(entry) for entry in _listed(value)} for key, value in functions.items()}


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("it is damaged")
    return value


def _place(entry: Any) -> Place:
    match entry:
        case [str(source), None]:
            return Place(source, None)
        case [str(source), int(dim)] if type(dim) is int and dim >= 0:
            return Place(source, dim)
    raise ValueError("it is damaged")
