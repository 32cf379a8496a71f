"""The versions of the file format: what an older file lacks."""

from __future__ import annotations

from typing import Any, Final

from anyshape.errors import LoadError
from anyshape.export.files import checked
from anyshape.export.files.encode import FORMAT
from anyshape.export.state.naming import BUFFER, CONSTANT, PARAMETER

_SEGMENTS: Final[dict[str, Any]] = {"branch": None, "segments": []}  # since version 5
_MODULES: Final[dict[str, Any]] = {"calls": [], "shared": [], "training": None}  # since version 6
_MODULES_SINCE: Final = 6
_DOOR: Final = {  # since version 4, and `exact` since version 5
    "device": None,
    "distinct": False,
    "exact": False,
    "handles": False,
}


def version_of(data: Any) -> int:
    """The version of a file; LoadError if it is newer than this reader."""
    if type(data) is not dict:
        checked.refuse("program.json", "an object", data)
    version = checked.number(data.get("format"), "the format version", 1)
    if version > FORMAT:
        raise LoadError(
            f"the file has format version {version}; this anyshape reads up to {FORMAT}",
            fix="load it with a newer anyshape",
            code="AS503",
        )
    return version


def upgraded(data: dict[str, Any], version: int) -> dict[str, Any]:
    """The content with what versions 4, 5 and 6 added, where the file is older. What version 7
    added may be absent from any file.
    """
    if version >= _MODULES_SINCE:
        return data
    data = {**data, "modules": _MODULES, "state": _upgraded_state(data)}
    variants = data.get("variants")
    if type(variants) is list:
        variants = [_upgraded_variant(v) for v in variants]
    return {"outside": [], **data, "variants": variants}


def _upgraded_state(data: dict[str, Any]) -> Any:
    """Names with kinds. What a run changes is unknown, so that may be any buffer."""
    pairs, records = data.get("state"), data.get("constants")
    if type(pairs) is not list or type(records) is not list:
        return None
    entries: list[list[Any]] = []
    buffers = []
    for pair in pairs:
        name, number = checked.items(pair, "state", 2)
        record = records[checked.number(number, "state", 0, len(records) - 1)]
        is_parameter = type(record) is dict and record.get("parameter") is True
        entries.append([name, PARAMETER if is_parameter else BUFFER, number])
        buffers += [] if is_parameter else [name]
    taken, named = {row[0] for row in entries}, {row[2] for row in entries}
    for number in set(range(len(records))) - named:
        name = f"constant_{number}"
        while name in taken:
            name += "_"
        entries.append([name, CONSTANT, number])
        buffers.append(name)
    firsts = {number: name for name, _, number in reversed(entries)}
    buffers = [name for name in buffers if name in firsts.values()]
    return {"entries": entries, "mutated": buffers}


def _upgraded_variant(data: Any) -> Any:
    if type(data) is not dict or type(data.get("door")) is not dict:
        return data
    return {**_SEGMENTS, **data, "door": {**_DOOR, **data["door"]}}
