"""The versions of the file format: what an older file lacks."""

from __future__ import annotations

from typing import Any, Final

from anyshape.errors import LoadError
from anyshape.export.files import checked
from anyshape.export.files.encode import FORMAT

_SEGMENTS: Final[dict[str, Any]] = {"branch": None, "segments": []}  # since version 5
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
        )
    return version


def upgraded(data: dict[str, Any], version: int) -> dict[str, Any]:
    """The content with what versions 4 and 5 added, where the file is older."""
    if version >= FORMAT:
        return data
    variants = data.get("variants")
    if type(variants) is list:
        variants = [_upgraded_variant(v) for v in variants]
    return {"outside": [], **data, "variants": variants}


def _upgraded_variant(data: Any) -> Any:
    if type(data) is not dict or type(data.get("door")) is not dict:
        return data
    return {**_SEGMENTS, **data, "door": {**_DOOR, **data["door"]}}
